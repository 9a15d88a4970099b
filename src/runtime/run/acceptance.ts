/**
 * What a run was accepted with: durable beside the run until it has ended, so that it can begin, or begin again.
 *
 * System texts stand here by id, since they are never stored with content of people (P-2.5); everything else by ref.
 */
import type { EventOf } from "../../kernel/journal/event.ts";
import { escapeMarkers } from "../../kernel/protocol/escape-markers.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { ImageType } from "../model/image-facts.ts";
import type { PromptImage, PromptMessage } from "../ports/model-backend.ts";

export type OpeningItem =
  | { readonly role: "system"; readonly id: string }
  /** `note`: what else the message was, in words; of images in an earlier run, say. */
  | { readonly role: "user" | "assistant"; readonly ref: BodyRef; readonly note?: string };

export interface Acceptance {
  readonly event: Omit<EventOf<"run.accepted">, "ts" | "elapsedMs">;
  /** How much its model is asked to think; absent: as it sees fit. */
  readonly thinkingLevel?: ThinkingLevel;
  /** Nobody is to be asked on its behalf, now or after a restart. */
  readonly isUnattended?: true;
  readonly opening: readonly OpeningItem[];
}

/** Written by us and read back from our own store: nothing foreign has touched it. */
export function readAcceptance(json: string): Acceptance {
  return JSON.parse(json) as Acceptance;
}

export function openingRefs({ opening, event }: Acceptance): readonly BodyRef[] {
  const said = opening.flatMap((item) => (item.role === "system" ? [] : [item.ref]));
  return event.media === undefined ? said : [...said, ...event.media.map(({ ref }) => ref)];
}

export function openingMessages(
  { opening, event }: Acceptance,
  systemText: (id: string) => string,
  read: (ref: BodyRef) => string | null,
): readonly PromptMessage[] {
  const messages = opening.map((item): PromptMessage => {
    if (item.role === "system") return { role: "system", content: systemText(item.id) };
    const text = read(item.ref) ?? "[erased]";
    const content = item.note === undefined ? text : `${text}\n${item.note}`;
    return item.role === "user"
      ? { role: "user", content: escapeMarkers(content) }
      : { role: "assistant", content, toolCalls: [] };
  });
  return event.media === undefined ? messages : withImages(messages, event.media, read);
}

/** The message stands last; its images go with it. */
function withImages(
  messages: readonly PromptMessage[],
  media: NonNullable<Acceptance["event"]["media"]>,
  read: (ref: BodyRef) => string | null,
): readonly PromptMessage[] {
  const message = messages.at(-1);
  if (message?.role !== "user") throw new Defect("acceptance: images without a message");
  const kept = media.map((image) => ({ image, data: read(image.ref) }));
  const images = kept.flatMap(({ image: { mimeType, width, height }, data }): readonly PromptImage[] =>
    // Nothing but what was proven to be of these types was ever accepted.
    data === null ? [] : [{ mimeType: mimeType as ImageType, width, height, data }],
  );
  const content = images.length === kept.length ? message.content : `${message.content}\n[image erased]`;
  return messages.with(-1, { role: "user", content, images });
}
