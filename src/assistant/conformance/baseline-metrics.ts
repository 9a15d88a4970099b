/**
 * The baseline metrics of M-P1 over the runs of a corpus, for comparison with later versions and other models. A rate over
 * nothing is 0; the 95th percentile is the smallest value that at least 95 % do not exceed.
 */
import { runSummary } from "../../kernel/journal/views/run-summary.ts";
import type { FailureReason } from "../../kernel/vocabulary/failures.ts";
import type { Transcript } from "./conformance-case.ts";
import { answersIn } from "./transcript-checks.ts";

interface Spread {
  readonly mean: number;
  readonly p95: number;
}

export interface BaselineMetrics {
  readonly runs: number;
  /** Share of the required-tool runs whose model finished without a performed tool. */
  readonly noToolCompletionRate: number;
  /** Share of all answers that the adapter rejected. */
  readonly parseFailureRate: number;
  readonly inferences: Spread;
  readonly durationMs: Spread;
  /** Runs that used up their inferences. */
  readonly maxStepExits: number;
}

const OUT_OF_STEPS: FailureReason = "budget.inferences";
const NO_TOOL: readonly (string | null)[] = ["protocol.no-tool-call", "effect.missing"] satisfies FailureReason[];

export function baselineMetrics(transcripts: readonly Transcript[]): BaselineMetrics {
  const summaries = transcripts.map(({ entries }) => runSummary(entries)).filter((summary) => summary !== null);
  const required = transcripts.filter(({ contract }) => contract.toolPolicy === "required");
  const answers = transcripts.flatMap(({ entries }) => answersIn(entries));
  return {
    runs: transcripts.length,
    noToolCompletionRate: rate(required.filter(isWithoutTool).length, required.length),
    parseFailureRate: rate(answers.filter(({ adapter }) => adapter.status === "rejected").length, answers.length),
    inferences: spread(summaries.map(({ inferences }) => inferences)),
    durationMs: spread(summaries.map(({ elapsed_ms: elapsedMs }) => elapsedMs)),
    maxStepExits: summaries.filter(({ reason }) => reason === OUT_OF_STEPS).length,
  };
}

function isWithoutTool({ record }: Transcript): boolean {
  return NO_TOOL.includes(record.reason) || (record.status === "completed" && record.tool_calls === 0);
}

function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const mean = rate(
    values.reduce((sum, value) => sum + value, 0),
    values.length,
  );
  return { mean, p95: sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0 };
}
