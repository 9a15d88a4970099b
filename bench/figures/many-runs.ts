/**
 * 64 runs at once beside 64 plain `fetch` loops that have the same conversations: steps a second, and CPU a step.
 *
 * When one has ended the next begins, so that there are 64 from the beginning to the end of a block. Streamed: each run is
 * watched, and the loops read streams.
 */
import { type Block, elapsedMs, measureBlocks, median, ratioOf } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import { fetchLoop } from "../plain-loops.ts";
import type { Row } from "../row.ts";
import { configFor, makeHome, openScene, removeDirectory, stepsOf, temporaryDirectory } from "../scene.ts";

const TURNS = 10;
const AT_ONCE = 64;

export const manyRuns: Figure = { name: "throughput", measure: (world) => measure(world, false) };
export const manyStreamedRuns: Figure = { name: "throughput-streamed", measure: (world) => measure(world, true) };

interface Sample {
  readonly stepsPerSecond: number;
  readonly cpuMicroseconds: number;
}

async function measure({ isQuick, blocks, model, opening }: BenchWorld, isStreamed: boolean): Promise<readonly Row[]> {
  const streamed = isStreamed ? ", streamed" : "";
  const rounds = isQuick ? 1 : 4;
  const directory = await temporaryDirectory();
  const scene = await openScene(await makeHome(directory), configFor(model.ready, isStreamed));
  const loop = fetchLoop(model.ready, scene.home.workspace, opening, isStreamed);
  const together = async (one: () => Promise<void>): Promise<Sample> => {
    const before = process.cpuUsage();
    let left = rounds * AT_ONCE;
    const inTurn = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await one();
      }
    };
    const ms = await elapsedMs(() => Promise.all(Array.from({ length: AT_ONCE }, inTurn)));
    // The process's own, all its threads included.
    const { user, system } = process.cpuUsage(before);
    const steps = rounds * AT_ONCE * stepsOf(TURNS);
    return { stepsPerSecond: (steps * 1000) / ms, cpuMicroseconds: (user + system) / steps };
  };
  const asRuns = () => together(() => scene.run({ turns: TURNS, tool: "fs.read_text", isWatched: isStreamed }));
  const asLoops = () => together(() => loop(TURNS));
  try {
    for (let warmUp = 0; warmUp < (isQuick ? 1 : 4); warmUp += 1) {
      await asRuns();
      await asLoops();
    }
    const measured = await measureBlocks(blocks, asRuns, asLoops);
    const throughput = by(measured, ({ stepsPerSecond }) => stepsPerSecond);
    const cpu = by(measured, ({ cpuMicroseconds }) => cpuMicroseconds);
    return [
      {
        name: `throughput at 64 runs ÷ plain fetch loop${streamed}`,
        ...ratioOf(throughput),
        unit: "",
        bound: { is: "at least", must: 0.65, aim: 1 },
        note: `${sides(throughput)} steps/s`,
      },
      {
        name: `CPU per step ÷ plain fetch loop${streamed}`,
        ...ratioOf(cpu),
        unit: "",
        bound: { is: "at most", must: 1.6, aim: 1.2 },
        note: `${sides(cpu)} µs`,
      },
    ];
  } finally {
    await scene.close();
    await removeDirectory(directory);
  }
}

function by(blocks: readonly Block<Sample>[], value: (sample: Sample) => number): readonly Block<number>[] {
  return blocks.map(({ subject, baseline, again }) => ({
    subject: value(subject),
    baseline: value(baseline),
    again: value(again),
  }));
}

function sides(blocks: readonly Block<number>[]): string {
  const [ours, theirs] = [median(blocks.map(({ subject }) => subject)), median(blocks.map(({ baseline }) => baseline))];
  return `${Math.round(ours)} and ${Math.round(theirs)}`;
}
