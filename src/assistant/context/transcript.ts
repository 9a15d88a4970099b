/**
 * What a compaction is given: the summary so far and the turns to condense, as one text. Every entry begins a line with the
 * number of its turn; further lines of a text are indented, so that no text can pass for an entry.
 */
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import type { SessionSummary } from "../../runtime/checkpoint/session-checkpoint.ts";
import type { ContextLimits } from "./context-limits.ts";
import type { SessionTurn } from "./session-turn.ts";

export const SUMMARY_HEADING = "Summary of the conversation before these turns:";
export const TURNS_HEADING = "Turns to condense, the oldest first:";

export function transcript(
  summary: SessionSummary | null,
  turns: readonly SessionTurn[],
  limits: Pick<ContextLimits, "messageChars" | "summaryChars">,
): string {
  const before = summary === null ? [] : [SUMMARY_HEADING, indented(summary.text), ""];
  const said = turns.flatMap((turn, at) => turnLines(turn, at + 1, limits));
  return [...before, TURNS_HEADING, ...said].join("\n");
}

function turnLines(
  { asked, calls, answered }: SessionTurn,
  number: number,
  { messageChars, summaryChars }: Pick<ContextLimits, "messageChars" | "summaryChars">,
): readonly string[] {
  const line = (who: string, text: string): string => `[${number}] ${who}: ${afterFirstIndented(text)}`;
  return [
    line("user", cutText(asked.note === null ? asked.text : `${asked.text}\n${asked.note}`, messageChars)),
    ...calls.map(({ tool, args, result }) => {
      // The first line names the tool and the call's id, which mean nothing later.
      const outcome = result.slice(result.indexOf("\n") + 1);
      return line("tool", `${tool} ${cutText(args, summaryChars)}\n${outcome}`);
    }),
    line("assistant", cutText(answered.text, messageChars)),
  ];
}

function indented(text: string): string {
  return text.replace(/^/gm, "  ");
}

function afterFirstIndented(text: string): string {
  return text.replace(/\r\n?|\n/g, "\n  ");
}
