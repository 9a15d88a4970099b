/**
 * `surety conformance`: how does a model behave under contract? Runs the corpus (M-9) against it and shows the matrix.
 *
 * F1. The runs are real, with a home, a store and tools of their own, which are removed afterwards: the model sees nothing
 *     of the user's workspace and prompts.
 * F2. Only a whole corpus is saved: an interrupted one is shown and forgotten.
 * F3. The default agent's budgets hold, and the runs count against them. A corpus that a budget or an absent provider cut
 *     short says nothing of the model, and is not saved.
 */
import { rm } from "node:fs/promises";
import { openSqliteStore } from "../../adapters/store-sqlite/open-sqlite-store.ts";
import { formatDuration } from "../../adapters/terminal/quantities.ts";
import { conformanceTools } from "../../adapters/tools/conformance/conformance-tools.ts";
import {
  type ConformanceReport,
  conformanceCost,
  conformanceReport,
} from "../../assistant/conformance/conformance-report.ts";
import { CORPUS, type ConformanceCase } from "../../assistant/conformance/corpus.ts";
import {
  CORPUS_AGENT,
  type CorpusDependencies,
  type CorpusStop,
  type JudgedCase,
  loosenModel,
  runCorpus,
} from "../../assistant/conformance/run-corpus.ts";
import type { Cost } from "../../kernel/journal/views/receipt.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import { noApprover } from "../../runtime/ports/approver.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import type { Budgets } from "../../runtime/spend/budget-scopes.ts";
import { type DailyBudget, hasDayLimit, openDailyBudget } from "../../runtime/spend/daily-budget.ts";
import { BootError, EXIT } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { DEFAULT_CONFIG } from "../config/default-config.ts";
import { apiKeyName } from "../config/resolve-api-key.ts";
import { resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import { makeWorkDirectory, saveReport } from "../conformance-files.ts";
import { findHome, type Home, openHome } from "../home.ts";
import { openSurety, type Surety } from "../open-surety.ts";
import { defectReporter } from "../report-failure.ts";
import { findSettings, type Settings } from "../settings.ts";
import { onInterrupt } from "../signals.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";

export const command: Action = {
  summary: "run the conformance corpus against a model, and show which cases pass",
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
  const homeStore = await openStore(context.home, settings.config.budgets);
  try {
    const today = timestampOf(systemClock.nowMs()).slice(0, 10);
    const budget = homeStore && (await openDailyBudget(homeStore, settings.config.budgets, CORPUS_AGENT, today));
    const { judged, isWhole } = await judgeModel(budget, context, settings, asked);
    const report = conformanceReport(ref, judged);
    print(context, report, conformanceCost(judged), budget !== null);
    if (!isWhole) return EXIT.interrupted;
    await saveReport(context.home, report, timestampOf(systemClock.nowMs()), systemRandomness);
    return report.failed === 0 ? EXIT.success : EXIT.failure;
  } finally {
    await homeStore?.close();
  }
}

/** Null when another process has the home and no limit of the day has to be held. */
async function openStore(home: Home, budgets: Budgets): Promise<Store | null> {
  try {
    return await openSqliteStore({ home: home.directory, clock: systemClock, random: systemRandomness });
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.in-use")) throw error;
    if (!hasDayLimit(budgets)) return null;
    throw heldElsewhere(error);
  }
}

function heldElsewhere(cause: unknown): BootError {
  const message = "another surety process works on this home, and only it can hold the limits of the day";
  return new BootError("store.in-use", message, "Stop it first, or use another --home.", { cause });
}

interface Judged {
  readonly judged: readonly JudgedCase[];
  /** False when it was interrupted. */
  readonly isWhole: boolean;
}

const STOP_GRACE_MS = 5_000;

async function judgeModel(
  budget: DailyBudget | null,
  context: CommandContext,
  settings: Settings,
  asked: Pick<CorpusDependencies, "model" | "keyName">,
): Promise<Judged> {
  const interruption = new AbortController();
  const { signal } = interruption;
  const stopListening = onInterrupt(() => Promise.resolve(interruption.abort()));
  const directory = await makeWorkDirectory(context.home, systemClock.nowMs());
  try {
    let current: ConformanceCase | null = null;
    const surety = await openApart(context, settings, { directory, budget, current: () => current });
    try {
      const onCase = (next: ConformanceCase): void => {
        current = next;
      };
      return { judged: await judgeAll(context, surety, { ...asked, onCase, signal }), isWhole: !signal.aborted };
    } finally {
      await surety.close(STOP_GRACE_MS);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
    stopListening();
  }
}

interface Apart {
  readonly directory: string;
  readonly budget: DailyBudget | null;
  readonly current: () => ConformanceCase | null;
}

/** The user's models and budgets; neither their agents nor their tools. */
async function openApart(
  { streams }: CommandContext,
  { config, readVariable }: Settings,
  { directory, budget, current }: Apart,
): Promise<Surety> {
  const home = findHome(directory, () => undefined);
  await openHome(home);
  const { agents } = DEFAULT_CONFIG;
  const moreTools = conformanceTools();
  const allow = moreTools.map(({ name }) => name);
  const tools = { ...DEFAULT_CONFIG.tools, policy: { ...DEFAULT_CONFIG.tools.policy, allow } };
  return await openSurety({
    ...{ home, config: { ...config, budgets: budget?.left ?? config.budgets, agents, tools }, readVariable },
    ...{ token: null, approver: noApprover, clock: systemClock, random: systemRandomness },
    onDefect: defectReporter(streams),
    moreTools,
    overModel: (model) => loosenModel(model, current),
    ...(budget === null ? {} : { overStore: budget.countingIn }),
  });
}

async function judgeAll(
  { output, streams, isJson }: CommandContext,
  { assistant, store }: Surety,
  context: Omit<CorpusDependencies, "assistant" | "store">,
): Promise<readonly JudgedCase[]> {
  const running = runCorpus({ ...context, assistant, store }, CORPUS);
  const judged: JudgedCase[] = [];
  // As with `run --json`: progress goes to a terminal only.
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

/** A refused request explains itself in one line (P-1.3). */
const STOP_HINTS: Readonly<Record<string, string>> = {
  "invalid.request": "",
  "budget.exhausted": "See surety budget.",
};

function stopped({ code, message }: CorpusStop): BootError {
  return new BootError(code, message, STOP_HINTS[code] ?? "See surety models check.");
}

function print({ output }: CommandContext, report: ConformanceReport, cost: Cost, isCounted: boolean): void {
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
    const counted = isCounted ? "" : "; not counted in this home, because another surety process works on it";
    output.line(`spent ${cost.tokens} tokens, ${formatCost(cost)}${counted}`);
  });
}

function percent(rate: number): string {
  return `${(rate * 100).toFixed(1)} %`;
}
