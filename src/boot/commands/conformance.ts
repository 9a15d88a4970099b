/**
 * `surety conformance`: how does a model behave under contract? Runs the corpus (M-9) against it and shows the matrix.
 *
 * F1. Only a whole corpus is saved: an interrupted one is shown and forgotten.
 * F2. The default agent's budgets hold, and the runs count against them. A corpus that a budget or an absent provider cut
 *     short says nothing of the model, and is not saved.
 */
import { openSqliteStore } from "../../adapters/store-sqlite/open-sqlite-store.ts";
import { formatDuration } from "../../adapters/terminal/quantities.ts";
import {
  type ConformanceReport,
  conformanceCost,
  conformanceReport,
} from "../../assistant/conformance/conformance-report.ts";
import { CORPUS } from "../../assistant/conformance/corpus.ts";
import { CORPUS_AGENT, type CorpusStop } from "../../assistant/conformance/run-corpus.ts";
import type { Cost } from "../../kernel/journal/views/receipt.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import type { Budgets } from "../../runtime/spend/budget-scopes.ts";
import { hasDayLimit, openDailyBudget } from "../../runtime/spend/daily-budget.ts";
import type { CorpusRun, JudgedCorpus } from "../administration/conformance.ts";
import { BootError, EXIT } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { apiKeyName } from "../config/resolve-api-key.ts";
import { resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import { saveReport } from "../conformance-files.ts";
import { runConformance } from "../conformance-run.ts";
import { type Home, openHome } from "../home.ts";
import { defectReporter } from "../report-failure.ts";
import { findSettings } from "../settings.ts";
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
    const { judged, isWhole } = await judge(context, { ...settings, budget, ...asked });
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

async function judge(
  { home, output, streams, isJson }: CommandContext,
  asked: Omit<CorpusRun, "home" | "onJudged" | "onDefect" | "signal">,
): Promise<JudgedCorpus> {
  const interruption = new AbortController();
  const stopListening = onInterrupt(() => Promise.resolve(interruption.abort()));
  // As with `run --json`: progress goes to a terminal only.
  const isWatched = !isJson || streams.stderr.isTTY === true;
  try {
    const judged = await runConformance({
      ...{ ...asked, home, signal: interruption.signal, onDefect: defectReporter(streams) },
      onJudged: (count, { id, name, outcome, problem }) => {
        const verdict = problem === null ? `passed, ${outcome}` : `failed: ${problem}`;
        if (isWatched) output.remark(`${count}/${CORPUS.length} ${id} ${name}: ${verdict}`);
      },
    });
    if (!judged.ok) throw stopped(judged);
    return judged;
  } finally {
    stopListening();
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
