/**
 * F2: SIGKILL at every k-th sync and write of one scenario (start, one run with effects, stop), by strace.
 *
 * strace counts each thread's calls by themselves. So there are three sweeps: syncs of a home that is being made (the
 * main thread's), then syncs and writes of the database of one that is there (the writer thread's). A sweep ends with
 * the first k that the scenario survives: it has no such call any more. Without strace the scenario is killed by the
 * clock instead, every few milliseconds of its life; the figures say so.
 */
import { join } from "node:path";
import { derive } from "../simulate/random.ts";
import { AcceptedJobs } from "./accepted-jobs.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { type GatewayProcess, NeverReady } from "./gateway-process.ts";
import { type Job, postJob } from "./job.ts";
import { openStage, type Stage, type StartOptions } from "./stage.ts";
import { fatalCall, hasStrace, SYNCS, WRITES } from "./strace.ts";
import { verifyHome } from "./verify-home.ts";

const END_LIMIT_MS = 60_000;
const TOO_MANY = 5_000;
const JOB: Job = { number: 0, letters: "oko" };

interface Sweep {
  readonly name: string;
  readonly isNewHome: boolean;
  /** The size is the stride of k among writes; there are fewer syncs. */
  strideOf(size: number): number;
  dieAt(k: number, files: readonly string[]): StartOptions;
}

const strideOfSyncs = (size: number): number => Math.ceil(size / 16);
const syncs = (k: number, files: readonly string[]): StartOptions => ({ below: fatalCall(SYNCS, k, files) });
const writes = (k: number, files: readonly string[]): StartOptions => ({ below: fatalCall(WRITES, k, files) });
const CLOCK_MS = 10;

const SWEEPS: readonly Sweep[] = [
  { name: "syncs, new home", isNewHome: true, strideOf: strideOfSyncs, dieAt: (k) => syncs(k, []) },
  { name: "syncs of the database", isNewHome: false, strideOf: strideOfSyncs, dieAt: syncs },
  { name: "writes of the database", isNewHome: false, strideOf: (size) => size, dieAt: writes },
];
const SWEEPS_WITHOUT_STRACE: readonly Sweep[] = [
  {
    name: `every ${CLOCK_MS} ms (no strace here)`,
    isNewHome: true,
    strideOf: (size) => size,
    dieAt: (k) => ({ dieAfterMs: k * CLOCK_MS }),
  },
];

export const killAtEveryCall: Fault = {
  id: "F2",
  title: "SIGKILL at every k-th sync and write (strace)",
  unit: "stride",
  fullSize: 1,
  shortSize: 150,
  stage: sweepAll,
};

async function sweepAll(staging: Staging): Promise<Findings> {
  const figures: Record<string, string> = {};
  const problems: string[] = [];
  const used = await openStage(staging);
  try {
    await (await used.start()).stop();
    for (const sweep of hasStrace() ? SWEEPS : SWEEPS_WITHOUT_STRACE) {
      const found = await sweepOne(staging, sweep, used.home);
      problems.push(...found.problems);
      figures[`${sweep.name}: k, kills`] = `up to ${found.lastK}, ${found.kills}`;
    }
  } finally {
    await used.close();
  }
  return { figures, problems };
}

async function sweepOne(staging: Staging, sweep: Sweep, usedHome: string) {
  const problems: string[] = [];
  const stride = sweep.strideOf(staging.size);
  let kills = 0;
  const first = 1 + derive(staging.seed, sweep.name).below(stride);
  for (let k = first; k < TOO_MANY; k += stride) {
    const found = await scenario(staging, sweep, k, usedHome);
    problems.push(...found.problems.map((problem) => `${sweep.name}, k = ${k}: ${problem}`));
    if (!found.isKilled) return { problems, kills, lastK: Math.max(0, k - stride) };
    kills += 1;
    if (kills % 10 === 1) staging.say(`${sweep.name}: killed at k = ${k}, ${problems.length} problems`);
  }
  return { problems: [...problems, `${sweep.name}: no end of calls`], kills, lastK: TOO_MANY };
}

async function scenario({ program, seed }: Staging, { isNewHome, dieAt }: Sweep, k: number, usedHome: string) {
  const stage = await openStage({ program, seed, from: isNewHome ? undefined : usedHome });
  try {
    const files = isNewHome ? [] : ["surety.db", "surety.db-wal"].map((name) => join(stage.home, name));
    const jobs = new AcceptedJobs();
    const isKilled = await live(stage, jobs, dieAt(k, files));
    const after = await startAfter(stage);
    if (after === null) return { isKilled, problems: ["it does not start any more"] };
    // Under its idempotency key: what was accepted already is not accepted twice.
    const posted = await postJob(after, JOB);
    if (posted.kind === "accepted") jobs.accept(posted.runId, JOB);
    else jobs.problems.push(`not accepted afterwards: ${JSON.stringify(posted)}`);
    await jobs.bringToEnd(stage, after, END_LIMIT_MS);
    await after.stop();
    if (jobs.size > 1) jobs.problems.push("the run that was accepted first is not there any more");
    const said = after.stderr.map((line) => `said: ${line}`);
    return { isKilled, problems: [...jobs.check(stage), ...said, ...(await verifyHome(stage))] };
  } finally {
    await stage.close();
  }
}

/** Null when it does not start any more. */
async function startAfter(stage: Stage): Promise<GatewayProcess | null> {
  try {
    return await stage.start();
  } catch (error) {
    if (error instanceof NeverReady) return null;
    throw error;
  }
}

/** Start, one run, stop. Was it killed on the way? */
async function live(stage: Stage, jobs: AcceptedJobs, options: StartOptions): Promise<boolean> {
  let gateway: GatewayProcess;
  try {
    gateway = await stage.start(options);
  } catch (error) {
    if (!(error instanceof NeverReady && error.ending.signal === "SIGKILL")) throw error;
    await stage.ledger.settled();
    return true;
  }
  const posted = await postJob(gateway, JOB);
  if (posted.kind === "accepted") {
    jobs.accept(posted.runId, JOB);
    await jobs.bringToEnd(stage, gateway, END_LIMIT_MS);
  }
  const { signal } = await gateway.stop();
  await stage.ledger.settled();
  return signal === "SIGKILL";
}
