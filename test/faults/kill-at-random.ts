/** F1: kill -9 at random moments, with 64 runs of tools with real effects in flight. */
import { setTimeout as pause } from "node:timers/promises";
import { derive } from "../simulate/random.ts";
import { AcceptedJobs } from "./accepted-jobs.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { type GatewayProcess, NeverReady } from "./gateway-process.ts";
import { drawLetters, type Job, postJob, readAsked, stepOf } from "./job.ts";
import { openStage, type Stage } from "./stage.ts";
import { verifyHome } from "./verify-home.ts";

/** Twice as many as there are workers, so that all 64 of them are at work while runs end and others are posted. */
const IN_FLIGHT = 128;
/** After it was ready, or after it had 64 runs in flight. */
const MAX_LIFE_MS = 150;
/** Some die while they start or recover. */
const STARTING_MS = 600;
const REFILL_MS = 5;
const READY_LIMIT_MS = 5_000;
const END_LIMIT_MS = 300_000;

export const killAtRandom: Fault = {
  id: "F1",
  title: "kill -9 at random moments, 64 runs with effects in flight",
  unit: "kills",
  fullSize: 1_000,
  shortSize: 8,
  stage: killOften,
};

async function killOften({ program, seed, size, judgesTime, say }: Staging): Promise<Findings> {
  const work = new Workload(seed);
  const stage = await openStage({
    program,
    seed,
    script: (request) => {
      const asked = readAsked(request);
      if (asked.results >= asked.letters.length) work.answered.add(asked.job);
      return stepOf(asked);
    },
  });
  const startedAt = performance.now();
  const readyMs: number[] = [];
  const problems: string[] = [];
  const inFlight: number[] = [];
  const endLife = async (gateway: GatewayProcess): Promise<void> => {
    const { signal } = await stage.kill(gateway);
    if (signal !== "SIGKILL" || gateway.stderr.length > 0) {
      problems.push(`a life ended by ${signal} and said: ${gateway.stderr.join(" | ")}`);
    }
  };
  try {
    const first = await stage.start();
    await work.fill(first);
    await endLife(first);
    for (let kill = 1; kill <= size; kill += 1) {
      const random = derive(seed, "life", kill);
      const kind = random.weigh({ starting: 2, recovering: 3, working: 5 });
      if (kind === "starting") await killBeforeReady(stage, random.between(0, STARTING_MS));
      else {
        const gateway = await stage.start();
        readyMs.push(gateway.readyMs);
        const filled = Promise.all([stage.operator.answerAll(gateway), work.fill(gateway)]);
        const busy = filled.then(() => work.keepFull(gateway));
        if (kind === "working") await filled;
        await pause(random.between(0, MAX_LIFE_MS));
        inFlight.push(work.open);
        await endLife(gateway);
        await busy;
      }
      if (kill % Math.max(1, Math.floor(size / 20)) === 0) say(progress(kill, size, startedAt, stage, work));
    }
    const minutes = (performance.now() - startedAt) / 60_000;
    const last = await stage.start();
    readyMs.push(last.readyMs);
    await work.fill(last);
    await work.jobs.bringToEnd(stage, last, END_LIMIT_MS);
    await last.stop();
    problems.push(...last.stderr.map((line) => `the last life said: ${line}`));
    const slow = readyMs.filter((ms) => ms > READY_LIMIT_MS).length;
    if (slow > 0 && judgesTime) problems.push(`${slow} restarts took longer than ${READY_LIMIT_MS} ms`);
    problems.push(...work.jobs.check(stage), ...(await verifyHome(stage)));
    const { ledger, operator } = stage;
    return {
      figures: {
        kills: size,
        "kills/min": Math.round(size / minutes),
        "runs in flight at a kill, median": median(inFlight),
        "runs accepted": work.jobs.size,
        outcomes: work.jobs.outcomes(),
        "opaque effects": ledger.opaque.size,
        "done twice": [...ledger.opaque.values()].filter((times) => times > 1).length,
        "effects cut off from their result": ledger.gaps.size,
        "effects asked about": operator.said.size,
        answers: `${operator.count("done")} done, ${operator.count("retry")} retry, ${operator.count("fail")} fail`,
        "keyed effects (attempts)": `${ledger.keyed.size} (${[...ledger.keyed.values()].reduce((sum, { attempts }) => sum + attempts, 0)})`,
        [`restarts over ${READY_LIMIT_MS} ms`]: slow,
        "ready ms, median / max": `${Math.round(median(readyMs))} / ${Math.round(Math.max(...readyMs))}`,
      },
      problems,
    };
  } finally {
    await stage.close();
  }
}

async function killBeforeReady(stage: Stage, afterMs: number): Promise<void> {
  const starting = stage.start({ dieAfterMs: afterMs });
  await starting.then(
    (gateway) => gateway.kill(),
    (error: unknown) => {
      if (!(error instanceof NeverReady && error.ending.signal === "SIGKILL")) throw error;
    },
  );
  await stage.ledger.settled();
}

/** Keeps as many runs in flight as there shall be. */
export class Workload {
  readonly jobs = new AcceptedJobs();
  /** The model gave its last answer; the run may still have to be carried over its last kill. */
  readonly answered = new Set<number>();
  readonly #seed: number;
  readonly #unposted: Job[] = [];
  #next = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get open(): number {
    return this.jobs.size - this.answered.size;
  }

  async fill(gateway: GatewayProcess): Promise<void> {
    while (this.#unposted.length + this.open < IN_FLIGHT) {
      this.#unposted.push({ number: this.#next, letters: drawLetters(derive(this.#seed, "job", this.#next), 1, 5) });
      this.#next += 1;
    }
    await Promise.all(this.#unposted.splice(0).map((job) => this.#post(gateway, job)));
  }

  /** Until the process is gone. */
  async keepFull(gateway: GatewayProcess): Promise<void> {
    while (!gateway.isGone) {
      await this.fill(gateway);
      await pause(REFILL_MS);
    }
  }

  async #post(gateway: GatewayProcess, job: Job): Promise<void> {
    const posted = await postJob(gateway, job);
    if (posted.kind === "accepted") this.jobs.accept(posted.runId, job);
    else this.#unposted.push(job);
    // Asked again in its next life.
    if (posted.kind === "refused" && posted.code === "gateway.stopping") return;
    if (posted.kind === "refused") this.jobs.problems.push(`job ${job.number} was refused: ${posted.code}`);
  }
}

function progress(
  kill: number,
  size: number,
  startedAt: number,
  { ledger, operator }: Stage,
  { jobs }: Workload,
): string {
  const rate = Math.round(kill / ((performance.now() - startedAt) / 60_000));
  const twice = [...ledger.opaque.values()].filter((times) => times > 1).length;
  return `${kill}/${size} kills (${rate}/min), ${jobs.size} runs accepted, ${ledger.total} effects, ${operator.said.size} asked about, ${twice} twice`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
