/**
 * `surety conformance`: how does a model behave under contract? Runs the corpus (M-9) against it and shows the matrix.
 *
 * F1. The runs are real, with a home, a store and tools of their own, which are gone afterwards, or when the command is next
 *     started, should it be killed: nothing of the user's workspace is offered to the model, and nothing of theirs is in
 *     the prompts.
 * F2. Only the whole corpus is saved: what was interrupted is shown and forgotten.
 * F3. Limits of money hold for it as for any day's work of the default agent, and it counts as such. What they do not cover is
 *     not run, and says nothing of the model: then nothing is saved. A provider that is not there says nothing of it either.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { formatDuration } from "../../adapters/terminal/quantities.ts";
import { conformanceTools } from "../../adapters/tools/conformance/conformance-tools.ts";
import { baselineMetrics } from "../../assistant/conformance/baseline-metrics.ts";
import type { ConformanceCase } from "../../assistant/conformance/conformance-case.ts";
import { CORPUS } from "../../assistant/conformance/corpus.ts";
import { loosenModel } from "../../assistant/conformance/loosen-model.ts";
import {
  CORPUS_AGENT,
  type CorpusDependencies,
  type CorpusStop,
  type JudgedCase,
  runCorpus,
} from "../../assistant/conformance/run-corpus.ts";
import { isPriced } from "../../kernel/journal/views/receipt.ts";
import { runSummary } from "../../kernel/journal/views/run-summary.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { nobodyToAsk } from "../approvers.ts";
import { BootError, EXIT } from "../boot-error.ts";
import { MICROUSD_PER_USD } from "../budget-scopes.ts";
import { clearStaleRuns, RUN_PREFIX } from "../clear-stale-runs.ts";
import type { Action, CommandContext } from "../command.ts";
import type { Budgets, Config } from "../config/config.ts";
import { DEFAULT_CONFIG } from "../config/default-config.ts";
import { apiKeyName } from "../config/resolve-api-key.ts";
import { resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import { type ConformanceReport, openConformanceDirectory, reportMetrics, saveReport } from "../conformance-report.ts";
import { type DailyBudget, openDailyBudget } from "../daily-budget.ts";
import { findHome, openHome } from "../home.ts";
import { openSurety, type Surety } from "../open-surety.ts";
import { defectReporter } from "../report-defect.ts";
import { findSettings, type Settings } from "../settings.ts";
import { onInterrupt } from "../signals.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";

export const conformance: Action = {
  summary: "run the conformance corpus against a model, and show which cases pass",
  arguments: [],
  options: { model: { type: "string", value: "P:M", summary: "provider:model instead of the configured one" } },
  examples: ["surety conformance", "surety conformance --model builtin:demo --json"],
  run: performConformance,
};

async function performConformance(context: CommandContext): Promise<number> {
  const settings = await findSettings(context);
  const verdict = resolveConfiguredModelRef(settings.config, context.options.text("model") ?? null);
  if (!verdict.ok) throw new BootError(verdict.code, verdict.message, "See surety models ls.");
  await openHome(context.home);
  const { ref, providerId, provider } = verdict.resolved;
  const asked = { model: ref, keyName: apiKeyName(providerId, provider) };
  const { judged, isWhole, isCounted } = await judgeModel(context, settings, asked);
  const passed = judged.filter(({ result }) => result.passed).length;
  const cases = judged.map(({ result }) => result);
  const metrics = reportMetrics(baselineMetrics(judged.filter(isTelling).map(({ transcript }) => transcript)));
  const report: ConformanceReport = { model: ref, cases, passed, failed: cases.length - passed, metrics };
  show(context, report, costOf(judged), isCounted);
  if (!isWhole) return EXIT.interrupted;
  await saveReport(context.home, report, timestampOf(systemClock.nowMs()), systemRandomness);
  return report.failed === 0 ? EXIT.success : EXIT.failure;
}

interface Cost {
  readonly tokens: number;
  readonly microusd: number;
  readonly isPriced: boolean;
}

function costOf(judged: readonly JudgedCase[]): Cost {
  const summaries = judged.map(({ transcript }) => runSummary(transcript.entries));
  return {
    tokens: summaries.reduce((sum, summary) => sum + (summary?.tokens ?? 0), 0),
    microusd: summaries.reduce((sum, summary) => sum + (summary?.spend_microusd ?? 0), 0),
    isPriced: judged.every(({ transcript }) => isPriced(transcript.entries)),
  };
}

/** A model that was told to break the rules shows nothing of how often it does. */
function isTelling({ result: { id } }: JudgedCase): boolean {
  return CORPUS.some((known) => known.id === id && !known.isProvoked);
}

interface Classification {
  readonly judged: readonly JudgedCase[];
  /** False when it was interrupted. */
  readonly isWhole: boolean;
  /** False when another process has the home, and no limit of its day has to be held. */
  readonly isCounted: boolean;
}

type AskedModel = Pick<CorpusDependencies, "model" | "keyName">;

async function judgeModel(context: CommandContext, settings: Settings, asked: AskedModel): Promise<Classification> {
  const purse = await openDailyBudget(context.home, settings.config.budgets, CORPUS_AGENT);
  try {
    return await judgeWith(purse, context, settings, asked);
  } finally {
    await purse?.close();
  }
}

async function judgeWith(
  purse: DailyBudget | null,
  context: CommandContext,
  settings: Settings,
  asked: AskedModel,
): Promise<Classification> {
  const interruption = new AbortController();
  const stopListening = onInterrupt(() => Promise.resolve(interruption.abort()));
  const folder = await openConformanceDirectory(context.home);
  await clearStaleRuns(folder, systemClock.nowMs());
  const directory = await mkdtemp(join(folder, RUN_PREFIX));
  try {
    let current: ConformanceCase | null = null;
    const surety = await openApart(context, settings, { directory, purse, current: () => current });
    try {
      const onCase = (next: ConformanceCase): void => {
        current = next;
      };
      const judged = await judgeAll(context, surety, { ...asked, onCase, signal: interruption.signal });
      return { judged, isWhole: !interruption.signal.aborted, isCounted: purse !== null };
    } finally {
      await surety.close(STOP_GRACE_MS);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
    stopListening();
  }
}

const STOP_GRACE_MS = 5_000;

interface Apart {
  readonly directory: string;
  readonly purse: DailyBudget | null;
  readonly current: () => ConformanceCase | null;
}

async function openApart(
  { streams }: CommandContext,
  { config, readVariable }: Settings,
  { directory, purse, current }: Apart,
): Promise<Surety> {
  const home = findHome(directory, () => undefined);
  await openHome(home);
  const settings = settingsApart(config, purse?.left ?? config.budgets);
  return await openSurety({
    ...{ home, config: settings, readVariable, token: null, approver: nobodyToAsk },
    ...{ clock: systemClock, random: systemRandomness, onDefect: defectReporter(streams) },
    moreTools: conformanceTools(),
    overModel: (model) => loosenModel(model, current),
    ...(purse === null ? {} : { overStore: purse.countingIn }),
  });
}

/** The user's models and limits; not their agents, and not their tools. */
function settingsApart(config: Config, budgets: Budgets): Config {
  return { ...config, budgets, agents: DEFAULT_CONFIG.agents, tools: DEFAULT_CONFIG.tools };
}

async function judgeAll(
  { output, streams, isJson }: CommandContext,
  { assistant, store }: Surety,
  context: Omit<CorpusDependencies, "assistant" | "store">,
): Promise<readonly JudgedCase[]> {
  const running = runCorpus({ ...context, assistant, store }, CORPUS);
  const judged: JudgedCase[] = [];
  // As with `run --json`: progress is for somebody who watches.
  const isWatched = !isJson || streams.stderr.isTTY === true;
  for (;;) {
    const next = await running.next();
    if (next.done !== true) {
      judged.push(next.value);
      const { id, name, outcome, problem } = next.value.result;
      const verdict = problem === null ? `passed, ${outcome}` : `failed: ${problem}`;
      if (isWatched) output.remark(`${judged.length}/${CORPUS.length} ${id} ${name}: ${verdict}`);
    } else if (next.value === null) return judged;
    else throw stopped(next.value);
  }
}

/** What is wrong with a request says so itself, in one line (P-1.3). */
const STOP_HINTS: Readonly<Record<string, string>> = {
  "invalid.request": "",
  "budget.exhausted": "See surety budget.",
};

function stopped({ code, message }: CorpusStop): BootError {
  return new BootError(code, message, STOP_HINTS[code] ?? "See surety models check.");
}

function show(
  { output }: CommandContext,
  report: ConformanceReport,
  { tokens, microusd, isPriced }: Cost,
  isCounted: boolean,
): void {
  output.result(report, () => {
    const { model, cases, passed, failed, metrics } = report;
    output.table(
      ["CASE", "NAME", "EXPECTED", "OUTCOME", "PASSED"],
      cases.map((row) => [row.id, row.name, row.expected, row.outcome, row.problem ? `no: ${row.problem}` : "yes"]),
    );
    const { inferences, duration_ms: durationMs } = metrics;
    output.line(`${model}: ${passed} passed, ${failed} failed`);
    output.line(
      `required-tool prompts closed without a tool ${percent(metrics.no_tool_completion_rate)}, answers that could not be read ${percent(metrics.parse_failure_rate)}`,
    );
    output.line(
      `inferences mean ${inferences.mean.toFixed(1)}, p95 ${inferences.p95}; duration mean ${formatDuration(durationMs.mean)}, p95 ${formatDuration(durationMs.p95)}; out of steps ${metrics.max_step_exits} of ${metrics.runs}`,
    );
    const cost = formatCost(tokens, microusd / MICROUSD_PER_USD, isPriced);
    const counted = isCounted ? "" : "; not counted in this home, which another surety process works on";
    output.line(`spent ${tokens} tokens, ${cost}${counted}`);
  });
}

function percent(rate: number): string {
  return `${(rate * 100).toFixed(1)} %`;
}
