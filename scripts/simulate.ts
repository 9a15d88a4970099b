/**
 * `npm run simulate -- [--seeds 10000] [--from 1] [--workers N]`: simulates seeds on all cores and prints what came out.
 * `npm run simulate -- --seed 42` tells the whole story of one.
 *
 * Exits 1 on any violation, and when a large enough batch does not reach every outcome.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { OUTCOMES, type Outcome } from "../src/kernel/vocabulary/outcome.ts";
import { describeRun, describeViolation, simulate } from "../test/simulate/simulate.ts";

/** Fewer seeds than this need not reach every outcome. */
const ENOUGH_SEEDS = 1_000;
const MAXIMUM_SHOWN = 5;

interface Share {
  readonly from: number;
  readonly until: number;
  readonly stride: number;
}

interface Tally {
  readonly outcomes: Record<string, number>;
  readonly entries: number;
  readonly events: number;
  readonly crashes: number;
  readonly violations: readonly string[];
}

function simulateShare({ from, until, stride }: Share): Tally {
  const outcomes: Record<string, number> = {};
  const violations: string[] = [];
  let [entries, events, crashes] = [0, 0, 0];
  for (let seed = from; seed < until; seed += stride) {
    const { run, violations: found } = simulate(seed);
    const { phase } = run.state;
    const outcome = phase.at === "TERMINATE" ? phase.outcome : "none";
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    entries += run.entries.length;
    events += run.happenings.filter(({ kind }) => kind === "heard").length;
    crashes += run.happenings.filter(({ kind }) => kind === "crashed").length;
    violations.push(...found.map((violation) => describeViolation(violation, run)));
  }
  return { outcomes, entries, events, crashes, violations };
}

function inWorker(share: Share): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

async function simulateBatch(from: number, seeds: number, workers: number): Promise<boolean> {
  const startedAt = performance.now();
  const until = from + seeds;
  const shares = Array.from({ length: workers }, (_, index): Share => ({ from: from + index, until, stride: workers }));
  const tallies = workers === 1 ? shares.map(simulateShare) : await Promise.all(shares.map(inWorker));
  const seconds = (performance.now() - startedAt) / 1_000;
  const sum = (count: (tally: Tally) => number): number => tallies.reduce((total, tally) => total + count(tally), 0);
  const countOf = (outcome: Outcome): number => sum(({ outcomes }) => outcomes[outcome] ?? 0);
  const violations = tallies.flatMap((tally) => tally.violations);

  for (const outcome of OUTCOMES) console.log(`${String(countOf(outcome)).padStart(8)}  ${outcome}`);
  console.log(
    `${seeds} seeds from ${from}: ${sum(({ events }) => events)} events, ${sum(({ entries }) => entries)} entries, ` +
      `${sum(({ crashes }) => crashes)} crashes`,
  );
  console.log(`${seconds.toFixed(1)} s on ${workers} worker(s), ${Math.round(seeds / seconds)} seeds/s`);
  console.log(`${violations.length} violations`);
  for (const violation of violations.slice(0, MAXIMUM_SHOWN)) console.log(violation);
  const missing = OUTCOMES.filter((outcome) => countOf(outcome) === 0);
  if (seeds >= ENOUGH_SEEDS && missing.length > 0) console.log(`never reached: ${missing.join(", ")}`);
  return violations.length === 0 && (seeds < ENOUGH_SEEDS || missing.length === 0);
}

function tellSeed(seed: number): boolean {
  const { run, violations } = simulate(seed);
  console.log(describeRun(run));
  for (const { invariant, problem } of violations) console.log(`VIOLATION ${invariant}: ${problem}`);
  return violations.length === 0;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "10000" },
      from: { type: "string", default: "1" },
      workers: { type: "string", default: String(availableParallelism()) },
      seed: { type: "string" },
    },
  });
  const isClean =
    values.seed === undefined
      ? await simulateBatch(Number(values.from), Number(values.seeds), Number(values.workers))
      : tellSeed(Number(values.seed));
  process.exitCode = isClean ? 0 : 1;
}

if (isMainThread) await main();
else parentPort?.postMessage(simulateShare(workerData as Share));
