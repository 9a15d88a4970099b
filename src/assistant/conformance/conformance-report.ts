/** What a conformance run found about a model (M-P1): the report that is shown and stored, and reading a stored one back. */
import { type Cost, costFacts, costOfTokens } from "../../kernel/journal/views/receipt.ts";
import { runSummary } from "../../kernel/journal/views/run-summary.ts";
import type { FailureReason } from "../../kernel/vocabulary/failures.ts";
import { CORPUS } from "./corpus.ts";
import type { CaseResult, JudgedCase } from "./run-corpus.ts";
import { answersIn, type Transcript } from "./transcript-checks.ts";

export interface ConformanceReport {
  /** `provider:model`. */
  readonly model: string;
  readonly cases: readonly CaseResult[];
  readonly passed: number;
  readonly failed: number;
  readonly metrics: ReturnType<typeof metricsOf>;
}

export function conformanceReport(model: string, judged: readonly JudgedCase[]): ConformanceReport {
  const cases = judged.map(({ result }) => result);
  const passed = cases.filter((result) => result.passed).length;
  return { model, cases, passed, failed: cases.length - passed, metrics: metricsOf(judged) };
}

const OUT_OF_STEPS: FailureReason = "budget.inferences";
const NO_TOOL: readonly (string | null)[] = ["protocol.no-tool-call", "effect.missing"] satisfies FailureReason[];

/**
 * For comparison with later versions and other models. Cases that provoke the model to break the rules are left out: they
 * say nothing of how often it does.
 */
function metricsOf(judged: readonly JudgedCase[]) {
  const unprovoked = judged.filter(({ result: { id } }) => CORPUS.some((each) => each.id === id && !each.isProvoked));
  const transcripts = unprovoked.map(({ transcript }) => transcript);
  const summaries = transcripts.map(({ entries }) => runSummary(entries)).filter((summary) => summary !== null);
  const required = transcripts.filter(({ contract }) => contract.toolPolicy === "required");
  const answers = transcripts.flatMap(({ entries }) => answersIn(entries));
  return {
    runs: transcripts.length,
    inferences: spread(summaries.map(({ inferences }) => inferences)),
    /** Share of the required-tool runs whose model finished without a performed tool. */
    no_tool_completion_rate: rate(required.filter(isWithoutTool).length, required.length),
    /** Share of all answers that the adapter rejected. */
    parse_failure_rate: rate(answers.filter(({ adapter }) => adapter.status === "rejected").length, answers.length),
    duration_ms: spread(summaries.map(({ elapsed_ms: elapsedMs }) => elapsedMs)),
    max_step_exits: summaries.filter(({ reason }) => reason === OUT_OF_STEPS).length,
  };
}

function isWithoutTool({ record }: Transcript): boolean {
  return NO_TOOL.includes(record.reason) || (record.status === "completed" && record.tool_calls === 0);
}

/** A rate over nothing is 0. */
function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** The 95th percentile is the smallest value that at least 95 % do not exceed. */
function spread(values: readonly number[]): { readonly mean: number; readonly p95: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const sum = values.reduce((total, value) => total + value, 0);
  return { mean: rate(sum, values.length), p95: sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0 };
}

export function conformanceCost(judged: readonly JudgedCase[]): Cost {
  const summaries = judged.map(({ transcript }) => runSummary(transcript.entries));
  const facts = judged.map(({ transcript }) => costFacts(transcript.entries));
  return costOfTokens(
    summaries.reduce((sum, summary) => sum + (summary?.tokens ?? 0), 0),
    summaries.reduce((sum, summary) => sum + (summary?.spend_microusd ?? 0), 0),
    {
      isPriced: facts.every(({ isPriced }) => isPriced),
      isEstimate: facts.some(({ isEstimate }) => isEstimate),
    },
  );
}

/** A stored report. */
export interface StoredReport {
  readonly at: string;
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly CaseResult[];
}

/** Null when the value has another shape. */
export function parseStoredReport(value: unknown): readonly [model: string, report: StoredReport] | null {
  if (typeof value !== "object" || value === null) return null;
  const { model, at, passed, failed, cases } = value as Readonly<Record<string, unknown>>;
  if (typeof model !== "string" || typeof at !== "string") return null;
  if (typeof passed !== "number" || typeof failed !== "number") return null;
  return [model, { at, passed, failed, cases: Array.isArray(cases) ? cases.flatMap(storedCase) : [] }];
}

/** A report of an earlier version may lack a case's name and its problem. */
function storedCase(value: unknown): readonly CaseResult[] {
  if (typeof value !== "object" || value === null) return [];
  const { id, name, expected, outcome, passed, problem } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof expected !== "string" || typeof outcome !== "string") return [];
  return [
    {
      ...{ id, expected, outcome, passed: passed === true },
      name: typeof name === "string" ? name : id,
      problem: typeof problem === "string" ? problem : null,
    },
  ];
}

/** As lists of models show it. */
export function conformanceResult({ cases, ...report }: StoredReport) {
  const failed = cases.filter(({ passed }) => !passed);
  return {
    ...report,
    failures: failed.map(({ id, expected, outcome, problem }) => ({ id, expected, outcome, problem })),
  };
}
