/**
 * The machine's `compact`: makes room in the prompt of a run that is going on, without a model (design §4). The session's
 * earlier turns leave it, and results of earlier steps are cut to what a later turn would show of them (O-6.1). What stays
 * whole: system prompts, the context, the message, every call with its result, and the last step.
 *
 * A function of the messages alone, so that a resumed run comes to the same prompt.
 */
import { promptHead } from "../../kernel/journal/body.ts";
import type { Answer } from "../../kernel/journal/entry.ts";
import type { Command } from "../../kernel/machine/command.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { PromptMessage } from "../ports/model-backend.ts";
import { shortenToolResult } from "../tools/format-tool-result.ts";

export interface CompactedMessages {
  readonly opening: readonly PromptMessage[];
  readonly own: readonly PromptMessage[];
  /** What is no longer sent, and the shorter texts in place of some of it. */
  readonly dropped: readonly string[];
  readonly added: readonly string[];
}

/** `own`: what the run itself has added to its opening. */
export function compactMessages(opening: readonly PromptMessage[], own: readonly PromptMessage[]): CompactedMessages {
  const isEarlier = ({ role }: PromptMessage, at: number): boolean => role !== "system" && at < opening.length - 1;
  const lastStep = own.findLastIndex(({ role }) => role === "assistant");
  const shortened = own.map((message, at): PromptMessage => {
    return message.role === "tool" && at < lastStep
      ? { ...message, content: shortenToolResult(message.content) }
      : message;
  });
  const changed = shortened.flatMap((message, at) => (message.content === own[at]?.content ? [] : [at]));
  return {
    opening: opening.filter((message, at) => !isEarlier(message, at)),
    own: shortened,
    dropped: [...opening.filter(isEarlier).flatMap(textsOf), ...changed.map((at) => own[at]?.content ?? "")],
    added: changed.map((at) => shortened[at]?.content ?? ""),
  };
}

function textsOf(message: PromptMessage): readonly string[] {
  const args = message.role === "assistant" ? message.toolCalls.map(({ argumentsText }) => argumentsText) : [];
  return message.content === "" ? args : [message.content, ...args];
}

/** Compacts the conversation; a prompt that cannot get shorter stays, and the machine has the model wrap up. */
export function compactPrompt(
  conversation: { compact(head: Hash): Pick<CompactedMessages, "dropped" | "added"> },
  { step, promptHead: before }: Extract<Command, { type: "compact" }>,
  { prompt }: RunState,
  countTokens: (text: string) => number,
): Answer {
  const head = promptHead(null, ["compacted", before]);
  const { dropped, added } = conversation.compact(head);
  const tokensOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + countTokens(text), 0);
  const succeeded = dropped.length > 0;
  const tokens = Math.max(0, prompt.tokens - Math.max(0, tokensOf(dropped) - tokensOf(added)));
  return { type: "context.compacted", step, succeeded, head: succeeded ? head : before, tokens, usage: NO_USAGE };
}

const NO_USAGE = { inputTokens: 0, outputTokens: 0, costMicrousd: 0 };
