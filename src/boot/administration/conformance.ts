/**
 * The conformance corpus, run for a client of the gateway while the gateway goes on.
 *
 * J1. One at a time; it ends with the gateway, and only a whole corpus is saved.
 * J2. What it spends counts in the home. Under a limit of the day it is refused: beside other runs nothing could hold it.
 */
import { conformanceReport } from "../../assistant/conformance/conformance-report.ts";
import { CORPUS } from "../../assistant/conformance/corpus.ts";
import {
  type CaseResult,
  CORPUS_AGENT,
  type CorpusDependencies,
  type CorpusStop,
  type JudgedCase,
} from "../../assistant/conformance/run-corpus.ts";
import type { Conformance, ConformanceState } from "../../assistant/models/operations.ts";
import type { FindModel } from "../../runtime/model/model-registry.ts";
import { refuse } from "../../runtime/operations/operation.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { type DailyBudget, hasDayLimit, openDailyBudget } from "../../runtime/spend/daily-budget.ts";
import { apiKeyName } from "../config/resolve-api-key.ts";
import { resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import { readReports, saveReport } from "../conformance-files.ts";
import type { Home } from "../home.ts";
import type { Settings } from "../settings.ts";

export interface CorpusRun extends Settings, Pick<CorpusDependencies, "model" | "keyName" | "signal"> {
  /** Where the working directory is made. */
  readonly home: Home;
  /** Null: it is counted nowhere. */
  readonly budget: DailyBudget | null;
  readonly onJudged: (count: number, result: CaseResult) => void;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

export interface JudgedCorpus {
  readonly ok: true;
  readonly judged: readonly JudgedCase[];
  /** False when it was interrupted. */
  readonly isWhole: boolean;
}

export type RunConformance = (asked: CorpusRun) => Promise<JudgedCorpus | CorpusStop>;

export interface ConformanceParts {
  readonly home: Home;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly settings: () => Settings;
  readonly findModel: FindModel;
  /** Absent in a process that serves no clients. */
  readonly runConformance: RunConformance | undefined;
  /** There is something else to read. */
  readonly onChange: () => void;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

type Running = NonNullable<ConformanceState["running"]>;

export interface ConformanceJobs extends Conformance {
  close(): Promise<void>;
}

export function openConformance(parts: ConformanceParts): ConformanceJobs {
  const { home, store, clock, random, settings, findModel, runConformance, onChange, onDefect } = parts;
  const closing = new AbortController();
  let running: Running | null = null;
  let last: ConformanceState["last"] = null;
  let ended = Promise.resolve();
  const now = (): string => timestampOf(clock.nowMs());

  const run = async (asked: Pick<CorpusRun, "model" | "keyName">, ref: string, job: Running): Promise<void> => {
    const { config, readVariable } = settings();
    const budget = await openDailyBudget(store, config.budgets, CORPUS_AGENT, now().slice(0, 10));
    const judged = await runConformance?.({
      ...{ ...asked, config, readVariable, budget, home, onDefect, signal: closing.signal },
      onJudged: (done) => {
        job.done = done;
        onChange();
      },
    });
    if (judged === undefined || (judged.ok && !judged.isWhole)) return;
    if (judged.ok) await saveReport(home, conformanceReport(ref, judged.judged), now(), random);
    last = { model: ref, ended_at: now(), problem: judged.ok ? null : judged.message };
  };

  return {
    start: (model) => {
      const { config } = settings();
      const verdict = resolveConfiguredModelRef(config, model);
      if (!verdict.ok) return refuse("not_found", verdict.message);
      const { ref, providerId, provider } = verdict.resolved;
      const choice = findModel(ref);
      if (!choice.ok) return refuse("invalid.request", choice.message);
      if (runConformance === undefined)
        return refuse("conflict", "No gateway runs on this home: use surety conformance.");
      if (running !== null)
        return refuse("conflict", `The corpus runs against ${running.model}; wait until it has ended.`);
      if (hasDayLimit(config.budgets)) return refuse("conflict", UNDER_A_LIMIT);
      const job: Running = { model: ref, started_at: now(), done: 0, total: CORPUS.length };
      running = job;
      ended = run({ model: ref, keyName: apiKeyName(providerId, provider) }, ref, job)
        .catch((error: unknown) => {
          const id = newId("err", random);
          last = { model: ref, ended_at: now(), problem: `Internal error; see log entry ${id}.` };
          onDefect(id, error);
        })
        .finally(() => {
          running = null;
          onChange();
        });
      return { ok: true, value: { ...job } };
    },
    state: async () => ({
      running: running === null ? null : { ...running },
      last,
      reports: [...(await readReports(home))].map(([model, { at, passed, failed, cases }]) => ({
        ...{ model, at, passed, failed, cases: [...cases] },
      })),
    }),
    close: () => {
      closing.abort();
      return ended;
    },
  };
}

const UNDER_A_LIMIT =
  "The config limits what is spent on a day, and beside other runs the corpus could pass it. Stop the gateway and use surety conformance.";
