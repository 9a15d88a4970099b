/**
 * What a model thought before each of its answers, for as long as the run that asked is in memory.
 *
 * T1. It is found by the message that the answer answered, as an object: no id and no text of one run leads to what was
 *     thought in another.
 * T2. It is kept nowhere else and is gone with the messages. A run that goes on after a restart goes on without.
 */
import type { PromptMessage } from "../../../runtime/ports/model-backend.ts";

export class ReasoningMemory {
  readonly #thoughts = new WeakMap<PromptMessage, string>();

  keep(asked: readonly PromptMessage[], reasoning: string): void {
    const cause = causeAt(asked, asked.length);
    if (cause !== undefined && reasoning !== "") this.#thoughts.set(cause, reasoning);
  }

  /** Empty where nothing is known of the answer at this place. */
  at(messages: readonly PromptMessage[], index: number): string {
    const cause = causeAt(messages, index);
    return (cause && this.#thoughts.get(cause)) ?? "";
  }
}

/** Notes that the run adds for one request only are of the role system, and are not there the next time. */
function causeAt(messages: readonly PromptMessage[], index: number): PromptMessage | undefined {
  let at = index - 1;
  while (messages[at]?.role === "system") at -= 1;
  return messages[at];
}
