/**
 * Runs the conformance corpus against a model. The runs are real, with a home, a store and tools of their own, which are
 * removed afterwards: the model sees nothing of the user's workspace and prompts.
 */
import { rm } from "node:fs/promises";
import { conformanceTools } from "../adapters/tools/conformance/conformance-tools.ts";
import { CORPUS, type ConformanceCase } from "../assistant/conformance/corpus.ts";
import {
  type CorpusDependencies,
  type CorpusStop,
  type JudgedCase,
  loosenModel,
  runCorpus,
} from "../assistant/conformance/run-corpus.ts";
import { noApprover } from "../runtime/ports/approver.ts";
import type { CorpusRun, JudgedCorpus } from "./administration/conformance.ts";
import { DEFAULT_CONFIG } from "./config/default-config.ts";
import { makeWorkDirectory } from "./conformance-files.ts";
import { findHome, openHome } from "./home.ts";
import { openSurety } from "./open-surety.ts";
import type { Surety } from "./opened-surety.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandomness } from "./system-randomness.ts";

const STOP_GRACE_MS = 5_000;

export async function runConformance(asked: CorpusRun): Promise<JudgedCorpus | CorpusStop> {
  const directory = await makeWorkDirectory(asked.home, systemClock.nowMs());
  try {
    let current: ConformanceCase | null = null;
    const surety = await openApart(asked, directory, () => current);
    try {
      return await judgeAll(asked, surety, (next) => {
        current = next;
      });
    } finally {
      await surety.close(STOP_GRACE_MS);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The user's models and budgets; neither their agents nor their tools and channels. */
async function openApart(asked: CorpusRun, directory: string, current: () => ConformanceCase | null): Promise<Surety> {
  const { config, readVariable, budget, onDefect } = asked;
  const home = findHome(directory, () => undefined);
  await openHome(home);
  const { agents, channels } = DEFAULT_CONFIG;
  const moreTools = conformanceTools();
  const allow = moreTools.map(({ name }) => name);
  const tools = { ...DEFAULT_CONFIG.tools, policy: { ...DEFAULT_CONFIG.tools.policy, allow } };
  return await openSurety({
    ...{ home, config: { ...config, budgets: budget?.left ?? config.budgets, agents, channels, tools }, readVariable },
    ...{ token: null, approver: noApprover, clock: systemClock, random: systemRandomness, onDefect },
    moreTools,
    modelsHome: asked.home.directory,
    overModel: (model) => loosenModel(model, current),
    ...(budget === null ? {} : { overStore: budget.countingIn }),
  });
}

async function judgeAll(
  { model, keyName, signal, onJudged }: CorpusRun,
  { assistant, store }: Surety,
  onCase: CorpusDependencies["onCase"],
): Promise<JudgedCorpus | CorpusStop> {
  const running = runCorpus({ model, keyName, signal, onCase, assistant, store }, CORPUS);
  const judged: JudgedCase[] = [];
  for (;;) {
    const next = await running.next();
    if (next.done !== true) {
      judged.push(next.value);
      onJudged(judged.length, next.value.result);
    } else if (next.value === null) return { ok: true, judged, isWhole: !signal.aborted };
    else return next.value;
  }
}
