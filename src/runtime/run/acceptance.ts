/**
 * What a run was accepted with, stored with the run until it ends, so that it can start, or start again.
 *
 * System texts are named by id, because they are never stored as content (P-2.5); everything else is named by ref.
 */
import type { EventOf } from "../../kernel/journal/event.ts";
import { escapeMarkers } from "../../kernel/protocol/escape-markers.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { ImageType } from "../model/image-facts.ts";
import type { PromptImage, PromptMessage } from "../ports/model-backend.ts";

export type OpeningItem =
  | { readonly role: "system"; readonly id: string }
  /** `note` describes parts that are not sent again, such as images of an earlier run. */
  | { readonly role: "user" | "assistant"; readonly ref: BodyRef; readonly note?: string };

export interface Acceptance {
  readonly event: Omit<EventOf<"run.accepted">, "ts" | "elapsedMs">;
  /** Absent: the provider's default. */
  readonly thinkingLevel?: ThinkingLevel;
  /** No operator is asked on its behalf, now or after a restart. */
  readonly isUnattended?: true;
  readonly opening: readonly OpeningItem[];
}

/** Not validated: we wrote it to our own store. */
export function readAcceptance(json: string): Acceptance {
  return JSON.parse(json) as Acceptance;
}

/** Null when it is damaged. */
export function findAcceptance(json: string): Acceptance | null {
  const parsed = parseJson(json);
  const acceptance = parsed.ok ? (parsed.value as Partial<Acceptance> | null) : null;
  return acceptance?.event === undefined || !Array.isArray(acceptance.opening) ? null : (acceptance as Acceptance);
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

/** The last message carries the images. */
function withImages(
  messages: readonly PromptMessage[],
  media: NonNullable<Acceptance["event"]["media"]>,
  read: (ref: BodyRef) => string | null,
): readonly PromptMessage[] {
  const message = messages.at(-1);
  if (message?.role !== "user") throw new Defect("acceptance: images without a user message");
  const kept = media.map((image) => ({ image, data: read(image.ref) }));
  const images = kept.flatMap(({ image: { mimeType, width, height }, data }): readonly PromptImage[] =>
    // Only images of these types are ever accepted.
    data === null ? [] : [{ mimeType: mimeType as ImageType, width, height, data }],
  );
  const content = images.length === kept.length ? message.content : `${message.content}\n[image erased]`;
  return messages.with(-1, { role: "user", content, images });
}
