/** The demo model's answer to "what do you remember about …": what the prompt's retrieved block holds, each item cited. */
import type { PromptMessage } from "../../../runtime/ports/model-backend.ts";

const QUESTION = /^\W*(?:what|which|do|tell)\b.*\b(?:you|we) (?:remember|recall|know about)\b|^\W*recall\b/is;
const MAX_CHARS = 4_000;
const BLOCK = /=== RETRIEVED_MEMORY ===\n(.*?)\n=== END_RETRIEVED_MEMORY ===/s;
const ITEM = /^- id=(mem_[0-9a-f]+) score=[\d.]+\n {2}(.*)$/gm;
const NOTHING = "I remember nothing about that. Say: remember that the key is under the mat";

/** Null: the message asks for something else. */
export function recall(message: string, messages: readonly PromptMessage[]): string | null {
  if (message.length > MAX_CHARS || !QUESTION.test(message)) return null;
  const block = messages.findLast(({ role, content }) => role === "system" && BLOCK.test(content));
  const items = [...(BLOCK.exec(block?.content ?? "")?.[1] ?? "").matchAll(ITEM)];
  if (items.length === 0) return NOTHING;
  return items.map(([, id, text]) => `${items.length === 1 ? "" : "- "}${text} [mem:${id}]`).join("\n");
}
