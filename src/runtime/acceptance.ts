/**
 * What a run was accepted with: durable beside the run until it has ended, so that it can begin, or begin again.
 *
 * System texts stand here by id, since they are never stored with content of people (P-2.5); everything else by ref.
 */
import type { EventOf } from "../kernel/journal/event.ts";
import { escapeMarkers } from "../kernel/protocol/escape-markers.ts";
import type { BodyRef } from "../kernel/vocabulary/identifiers.ts";
import type { PromptMessage } from "./ports/model-backend.ts";

export type OpeningItem =
  | { readonly role: "system"; readonly id: string }
  | { readonly role: "user" | "assistant"; readonly ref: BodyRef };

export interface Acceptance {
  readonly event: Omit<EventOf<"run.accepted">, "ts" | "elapsedMs">;
  readonly opening: readonly OpeningItem[];
}

/** Written by us and read back from our own store: nothing foreign has touched it. */
export function readAcceptance(json: string): Acceptance {
  return JSON.parse(json) as Acceptance;
}

export function openingRefs({ opening }: Acceptance): readonly BodyRef[] {
  return opening.flatMap((item) => (item.role === "system" ? [] : [item.ref]));
}

export function openingMessages(
  { opening }: Acceptance,
  systemText: (id: string) => string,
  read: (ref: BodyRef) => string | null,
): readonly PromptMessage[] {
  return opening.map((item): PromptMessage => {
    if (item.role === "system") return { role: "system", content: systemText(item.id) };
    const content = read(item.ref) ?? "[erased]";
    return item.role === "user"
      ? { role: "user", content: escapeMarkers(content) }
      : { role: "assistant", content, toolCalls: [] };
  });
}
