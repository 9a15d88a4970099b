/** F14: recorded runs of every kind of end, replayed from their journals alone: same outcome, same final hash. */
import { openSqliteReader } from "../../src/adapters/store-sqlite/open-sqlite-reader.ts";
import { OUTCOMES } from "../../src/kernel/vocabulary/outcome.ts";
import { contractOf, readWholeJournal } from "../../src/runtime/run/read-run.ts";
import { replayRun } from "../../src/runtime/run/replay-run.ts";
import { derive } from "../simulate/random.ts";
import { AcceptedJobs } from "./accepted-jobs.ts";
import { EFFECT_TOOLS } from "./effect-tools.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { drawLetters, type Job, postJob } from "./job.ts";
import { openStage, type Stage } from "./stage.ts";

const AT_ONCE = 32;
const END_LIMIT_MS = 300_000;
const PAGE = 500;
/** As many as are also replayed by `surety replay`. */
const BY_COMMAND = 3;

export const replayRecorded: Fault = {
  id: "F14",
  title: "recorded runs of every outcome, replayed",
  unit: "runs",
  fullSize: 1_000,
  shortSize: 20,
  stage: recordAndReplay,
};

async function recordAndReplay({ program, seed, size, say }: Staging): Promise<Findings> {
  const stage = await openStage({ program, seed, effectMs: () => 0 });
  try {
    const jobs = new AcceptedJobs();
    const gateway = await stage.start();
    let next = 0;
    const recordOn = async (): Promise<void> => {
      while (next < size) {
        const number = next;
        next += 1;
        await record(gateway, jobs, jobOf(seed, number));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, recordOn));
    await jobs.bringToEnd(stage, gateway, END_LIMIT_MS);
    await gateway.stop();
    say(`${jobs.size} recorded: ${jobs.outcomes()}`);
    const { replayed, problems, reached } = await replayAll(stage);
    if (replayed.length !== size) problems.push(`${replayed.length} runs were replayed, not ${size}`);
    for (const runId of replayed.slice(0, BY_COMMAND)) {
      const { code, output } = await stage.surety("replay", runId);
      if (code !== 0) problems.push(`surety replay ${runId}: ${output}`);
    }
    return {
      figures: {
        "runs replayed": replayed.length,
        "by the command too": Math.min(BY_COMMAND, size),
        "outcomes reached": `${reached.size} of ${OUTCOMES.length}`,
        outcomes: jobs.outcomes(),
      },
      problems: [...jobs.problems, ...problems],
    };
  } finally {
    await stage.close();
  }
}

/** Every way to end that a message alone can lead to. */
function jobOf(seed: number, number: number): Job {
  const random = derive(seed, "recorded", number);
  const kind = random.weigh({
    tools: 5,
    chat: 2,
    narrating: 1,
    forbidden: 1,
    malformed: 1,
    failing: 2,
    refused: 1,
    short: 1,
    slow: 1,
  });
  const letters = drawLetters(random, 1, 4);
  switch (kind) {
    case "tools":
      return { number, letters };
    case "chat":
      return { number, letters: "" };
    case "narrating":
      return { number, letters: "", contract: { tool_policy: "required" } };
    case "forbidden":
      return { number, letters, contract: { tool_policy: "forbidden" } };
    case "malformed":
      return { number, letters: `${letters}ww` };
    case "failing":
      return { number, letters: `${letters}${random.pick(["e", "h"])}` };
    case "refused":
      return {
        number,
        letters: "r",
        approved: [],
        contract: { allowed_tools: [EFFECT_TOOLS.keyed], strict_mode: true },
      };
    case "short":
      return { number, letters: "kkkk", contract: { max_inferences: 2 } };
    case "slow":
      return { number, letters: `${letters}t`, contract: { step_timeout_ms: 1_000 } };
  }
}

async function record(gateway: GatewayProcess, jobs: AcceptedJobs, job: Job): Promise<void> {
  const posted = await postJob(gateway, job);
  if (posted.kind !== "accepted") {
    jobs.problems.push(`job ${job.number} was not accepted: ${JSON.stringify(posted)}`);
    return;
  }
  jobs.accept(posted.runId, job);
  if (job.number % 20 === 0) await gateway.ask("POST", `/v1/runs/${posted.runId}/cancel`);
}

async function replayAll({ home }: Stage) {
  const store = await openSqliteReader(home);
  const problems: string[] = [];
  const replayed: string[] = [];
  const reached = new Set<string>();
  try {
    for (let offset = 0; ; offset += PAGE) {
      const { runs } = await store.listRuns({ limit: PAGE, offset });
      for (const run of runs) {
        const { ok, entries } = await readWholeJournal(store, run.runId);
        const { isReproduced, outcome, headHash } = replayRun(run.runId, contractOf(run), entries);
        const isSame = ok && isReproduced && outcome === run.outcome && headHash === entries.at(-1)?.hash;
        if (!isSame) problems.push(`${run.runId}: ${run.outcome} became ${outcome}, head ${headHash}`);
        replayed.push(run.runId);
        reached.add(run.outcome ?? "none");
      }
      if (runs.length < PAGE) return { problems, replayed, reached };
    }
  } finally {
    await store.close();
  }
}
