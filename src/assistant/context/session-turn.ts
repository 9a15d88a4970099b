/**
 * One ended run as the turn of a conversation: what the user said, the calls and their results, the answer. Later prompts
 * are made of these texts, so none has its full size (O-6.1): a result becomes `tool <name> result (<id>)` with summary,
 * error and an excerpt of its output, and long arguments are cut.
 */

import type { Entry } from "../../kernel/journal/entry.ts";
import { argsOf, contentOf, type Lookup, textOf } from "../../kernel/journal/views/body-content.ts";
import { shownError } from "../../kernel/journal/views/call-outcome.ts";
import { answerOf } from "../../kernel/journal/views/run-answer.ts";
import { acceptedOf, runTimeline, type TimelineItem } from "../../kernel/journal/views/run-timeline.ts";
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";
import type { PlacedRun } from "../../runtime/ports/store.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import { imageNote } from "../runs/read-media.ts";
import type { ContextLimits } from "./context-limits.ts";

export interface TurnCall {
  readonly callId: string;
  readonly tool: string;
  /** JSON, its long texts cut. */
  readonly args: string;
  readonly ok: boolean;
  readonly result: string;
}

export interface SessionTurn {
  /** The run's id; of an imported turn, one of its own. */
  readonly id: string;
  /** Null: imported, no run of ours. */
  readonly runId: RunId | null;
  readonly position: number;
  readonly labels: Labels;
  /** Null where another assistant had it. */
  readonly outcome: Outcome | null;
  readonly askedAt: string;
  readonly answeredAt: string;
  /** `ref` is null where no run holds the text. */
  readonly asked: { readonly ref: BodyRef | null; readonly text: string; readonly note: string | null };
  readonly calls: readonly TurnCall[];
  /** `ref` is null where the text is derived, such as for a run without an answer. */
  readonly answered: { readonly ref: BodyRef | null; readonly text: string };
  /** Its NOTES asked for a summary of what was said before (S-2.3). */
  readonly asksToCondense: boolean;
  /** When its content was removed for good; absent: it was not. */
  readonly erasedAt?: string;
}

type Ended = Extract<TimelineItem, { kind: "call-ended" }>;

/** Null for a run that never began. */
export function turnOf(
  run: PlacedRun,
  entries: readonly Entry[],
  lookup: Lookup,
  summarize: Toolbox["summarize"],
  limits: ContextLimits,
): SessionTurn | null {
  const accepted = acceptedOf(entries);
  const ending = entries.at(-1);
  if (accepted === null || ending?.kind !== "TERMINATE") return null;
  const calls = runTimeline(entries).flatMap((item) =>
    item.kind === "call-ended" ? [turnCall(item, lookup, summarize, limits)] : [],
  );
  const said = answerOf(ending, lookup);
  const { outcome, reason } = ending.decided;
  return {
    id: run.runId,
    runId: run.runId,
    position: run.position,
    labels: ending.labels,
    outcome,
    askedAt: run.createdAt,
    answeredAt: ending.ts,
    asked: {
      ref: accepted.messageRef,
      text: lookup(accepted.messageRef) ?? "[erased]",
      note: accepted.media === undefined ? null : accepted.media.map(imageNote).join("\n"),
    },
    calls,
    answered: {
      ref: ending.result?.type === "run.answered" && said !== null ? ending.result.ref : null,
      text: said ?? `(no answer: ${outcome}${reason === null ? "" : `, ${reason}`})`,
    },
    asksToCondense: entries.some(asksToCondense),
    ...(run.erasedAt === undefined ? {} : { erasedAt: run.erasedAt }),
  };
}

function asksToCondense({ result }: Entry): boolean {
  if (result?.type !== "model.answered" || result.notes?.status !== "applied") return false;
  return result.notes.actions.some(({ action }) => action === "condense_smart");
}

function turnCall(
  { call, outcome }: Ended,
  lookup: Lookup,
  summarize: Toolbox["summarize"],
  limits: ContextLimits,
): TurnCall {
  const { callId, tool, argsRef } = call;
  const args = argsOf(argsRef, lookup);
  const error = shownError(outcome, lookup);
  const output = textOf(outcome.outputRef, lookup);
  const summary = summarize({ tool, args, ok: outcome.ok, output: contentOf(outcome.outputRef, lookup) });
  return {
    callId,
    tool,
    ok: outcome.ok,
    args: argsText(args, limits),
    result: resultText(
      { tool, callId, summary, error: error === null ? "" : `${error.code}: ${error.message}`, output: output ?? "" },
      limits,
    ),
  };
}

export function argsText(args: unknown, { summaryChars }: ContextLimits): string {
  return JSON.stringify(args, (_key, value: unknown) =>
    typeof value === "string" ? cutText(value, summaryChars) : value,
  );
}

interface ResultTexts {
  readonly tool: string;
  readonly callId: string;
  readonly summary: string;
  readonly error: string;
  readonly output: string;
}

/** As a tool message of a later prompt has it (O-6.1). */
export function resultText({ tool, callId, summary, error, output }: ResultTexts, limits: ContextLimits): string {
  const lines = [
    `tool ${tool} result (${callId})`,
    ...(summary === "" ? [] : [`summary: ${cutText(summary, limits.summaryChars)}`]),
    ...(error === "" ? [] : [`error: ${cutText(error, limits.errorChars)}`]),
    ...(output === "" ? [] : [`output: ${cutText(output, limits.outputChars)}`]),
  ];
  return cutText(lines.join("\n"), limits.messageChars);
}
