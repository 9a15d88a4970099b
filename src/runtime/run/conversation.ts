/**
 * The messages a model is sent: the run's opening prompt, then one turn after another, rebuilt from the entries. A function
 * of both, so a resumed run sends the same messages.
 *
 * Every proposed call is answered once, in proposed order, by a role=tool message with the seed's JSON (S-3.2). Text that the
 * model did not write has its markers escaped (S-3.3). The instruction of a mode (repair, recovery, synthesis) is sent with
 * one inference and not kept. For approvers, untrusted text is listed with the entry that brought it in.
 */
import type { Statement, StatementOf } from "../../kernel/journal/chain.ts";
import type { DecidedCall, InferMode } from "../../kernel/journal/entry.ts";
import { type Lookup, textOf } from "../../kernel/journal/views/body-content.ts";
import {
  type CallOutcome,
  isTriedAgain,
  observedOutcome,
  refusedOutcome,
  shownError,
  skippedOutcome,
} from "../../kernel/journal/views/call-outcome.ts";
import {
  bringsUntrusted,
  type UntrustedSource,
  untrustedSourceOf,
} from "../../kernel/journal/views/untrusted-source.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import { decodeReasoning } from "../model/reasoning-continuation.ts";
import type { PromptMessage } from "../ports/model-backend.ts";
import { formatToolResult } from "../tools/format-tool-result.ts";
import { type CompactedMessages, compactMessages } from "./compact-prompt.ts";

export class Conversation {
  readonly #lookup: Lookup;
  readonly #messages: PromptMessage[];
  /** How many of the messages are the opening prompt. */
  #opening: number;
  /** Of the prompt that it was compacted to. */
  #compactedTo: Hash | null = null;
  readonly #untrusted: { readonly entry: Statement; readonly call: DecidedCall | null }[] = [];
  #calls: readonly DecidedCall[] = [];

  constructor(opening: readonly PromptMessage[], lookup: Lookup) {
    this.#messages = [...opening];
    this.#opening = opening.length;
    this.#lookup = lookup;
  }

  append(entries: readonly Statement[]): void {
    for (const entry of entries) {
      for (const event of "heard" in entry.decided ? entry.decided.heard : []) {
        if (event.type === "context.compacted" && event.succeeded) this.compact(event.head);
      }
      this.#messages.push(...this.#messagesOf(entry));
      this.#orderResults();
      if (bringsUntrusted(entry)) this.#untrusted.push({ entry, call: this.#callOf(entry) });
    }
  }

  get untrusted(): readonly UntrustedSource[] {
    return this.#untrusted.map(({ entry, call }) => untrustedSourceOf(entry, call, this.#lookup));
  }

  messages(mode: InferMode): readonly PromptMessage[] {
    const note = noteOf(mode);
    return note === null ? [...this.#messages] : [...this.#messages, { role: "system", content: note }];
  }

  /** Makes room (compact-prompt.ts), once for each head; returns the texts that were dropped and added. */
  compact(head: Hash): Pick<CompactedMessages, "dropped" | "added"> {
    if (this.#compactedTo === head) return { dropped: [], added: [] };
    const { opening, own, ...texts } = compactMessages(
      this.#messages.slice(0, this.#opening),
      this.#messages.slice(this.#opening),
    );
    if (texts.dropped.length === 0) return texts;
    this.#compactedTo = head;
    this.#opening = opening.length;
    this.#messages.splice(0, this.#messages.length, ...opening, ...own);
    return texts;
  }

  #messagesOf(entry: Statement): readonly PromptMessage[] {
    switch (entry.kind) {
      case "INFER":
        return this.#assistantMessage(entry.result);
      case "VALIDATE_CALLS": {
        this.#calls = entry.decided.calls;
        const denied = entry.decided.calls.filter(({ decision }) => decision === "deny");
        return denied.map((call) => this.#resultMessage(call, refusedOutcome(call)));
      }
      case "OBSERVE": {
        const { result, decided } = entry;
        if (isTriedAgain(entry)) return [];
        const answered = this.#calls.filter(
          ({ callId }) => callId === decided.callId || decided.sharedBy.includes(callId),
        );
        return answered.map((call) => this.#resultMessage(call, observedOutcome(result, decided.error)));
      }
      case "COMMIT":
        return entry.decided.skipped.flatMap(({ callId, policyId }) => {
          const call = this.#calls.find((other) => other.callId === callId);
          return call === undefined ? [] : [this.#resultMessage(call, skippedOutcome(policyId))];
        });
      default:
        return [];
    }
  }

  /** Results follow the order of their calls (S-3.2): a refusal is known before the results of the calls around it. */
  #orderResults(): void {
    const start = this.#messages.findLastIndex(({ role }) => role !== "tool") + 1;
    if (this.#messages.length - start < 2) return;
    const position = (message: PromptMessage): number =>
      this.#calls.findIndex(({ callId }) => message.role === "tool" && callId === message.callId);
    const results = this.#messages.splice(start);
    this.#messages.push(...results.sort((a, b) => position(a) - position(b)));
  }

  #callOf({ decided }: Statement): DecidedCall | null {
    return "callId" in decided ? (this.#calls.find(({ callId }) => callId === decided.callId) ?? null) : null;
  }

  /** Erased text is shown as erased; the message stays. */
  #assistantMessage(result: StatementOf<"INFER">["result"]): readonly PromptMessage[] {
    if (result?.type !== "model.answered" || result.messageRef === null) return [];
    const content = textOf(result.textRef, this.#lookup) ?? "";
    const toolCalls = result.calls.map(({ callId, tool, argsRef }) => ({
      id: callId,
      tool,
      argumentsText: this.#lookup(argsRef) ?? "{}",
    }));
    const thoughts = toolCalls.length === 0 ? undefined : decodeReasoning(this.#lookup(result.messageRef));
    return [{ role: "assistant", content, toolCalls, ...(thoughts === undefined ? null : { thoughts }) }];
  }

  #resultMessage({ callId, tool }: DecidedCall, outcome: CallOutcome): PromptMessage {
    const error = shownError(outcome, this.#lookup);
    const content = formatToolResult(
      { callId, tool },
      {
        ok: outcome.ok,
        output: outcome.ok ? textOf(outcome.outputRef, this.#lookup) : null,
        error: error && `${error.code}: ${error.message}`,
      },
    );
    return { role: "tool", callId, tool, content };
  }
}

/** The instruction sent with one inference of the mode. */
export function noteOf(mode: InferMode): string | null {
  return MODE_NOTES[mode];
}

const MODE_NOTES: Readonly<Record<InferMode, string | null>> = {
  normal: null,
  repair: "Your last answer could not be read. Answer again, exactly in the required form.",
  recovery:
    "The last tool calls failed. Look at their errors, change your approach or the arguments, and do not repeat a call that failed.",
  synthesis: "Answer now with what you know. No more tools can be called.",
  critique:
    "Review your last answer before anyone reads it. Compare it with the results above: does it mention every call that failed and every result that was cut off, and claim nothing that they do not show? If so, answer with the one word PASS. Otherwise write the corrected answer, whole, and nothing else.",
};
