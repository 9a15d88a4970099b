/**
 * Does a step cost more when many came before it? Runs of 100 turns beside runs of 10, per step.
 *
 * Bytes: how much the database file grew, its log carried over, so pages, indexes and free space count.
 * Time: every request holds the whole conversation, so the request itself grows; the same transport without machine and
 * store is measured beside it, and its own growth told in the note.
 */
import { type Block, elapsedMs, measureBlocks, ratioOf } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import { transportLoop } from "../plain-loops.ts";
import type { Row } from "../row.ts";
import {
  configFor,
  databaseBytes,
  makeHome,
  openScene,
  removeDirectory,
  stepsOf,
  temporaryDirectory,
} from "../scene.ts";

const SHORT = 10;
const LONG = 100;

export const growth: Figure = { name: "growth", measure };

async function measure(world: BenchWorld): Promise<readonly Row[]> {
  return [await bytesPerStep(world), await stepTime(world)];
}

async function bytesPerStep({ model, isQuick }: BenchWorld): Promise<Row> {
  const steps = isQuick ? 400 : 2000;
  const short = await bytesOf(model.ready, SHORT, steps);
  const long = await bytesOf(model.ready, LONG, steps);
  return {
    name: "bytes per step, 100 turns ÷ 10 turns",
    value: long / short,
    spread: 0,
    unit: "",
    bound: { is: "at most", must: 1.1 },
    note: `${Math.round(long)} and ${Math.round(short)} bytes`,
  };
}

async function bytesOf(baseUrl: string, turns: number, steps: number): Promise<number> {
  const directory = await temporaryDirectory();
  try {
    const home = await makeHome(directory);
    const config = configFor(baseUrl);
    await (await openScene(home, config)).close();
    const before = await databaseBytes(home);
    const scene = await openScene(home, config);
    const runs = Math.ceil(steps / stepsOf(turns));
    for (let run = 0; run < runs; run += 1) await scene.run({ turns, tool: "fs.read_text" });
    await scene.close();
    return ((await databaseBytes(home)) - before) / (runs * stepsOf(turns));
  } finally {
    await removeDirectory(directory);
  }
}

async function stepTime({ model, isQuick, blocks, opening }: BenchWorld): Promise<Row> {
  const directory = await temporaryDirectory();
  const scene = await openScene(await makeHome(directory), configFor(model.ready));
  const loop = await transportLoop(model.ready, scene.home.workspace, opening);
  const steps = isQuick ? 110 : 440;
  const perStep = async (turns: number, one: (turns: number) => Promise<void>): Promise<number> => {
    const runs = Math.max(1, Math.round(steps / stepsOf(turns)));
    const ms = await elapsedMs(async () => {
      for (let run = 0; run < runs; run += 1) await one(turns);
    });
    return ms / runs / stepsOf(turns);
  };
  const asRun = (turns: number) => scene.run({ turns, tool: "fs.read_text" });
  try {
    for (let warmUp = 0; warmUp < 20; warmUp += 1) await asRun(SHORT);
    const ours = await measureBlocks(
      blocks,
      () => perStep(LONG, asRun),
      () => perStep(SHORT, asRun),
    );
    const alone = await measureBlocks(
      blocks,
      () => perStep(LONG, loop),
      () => perStep(SHORT, loop),
    );
    return {
      name: "step time, 100 turns ÷ 10 turns",
      ...ratioOf(ours),
      unit: "",
      bound: { is: "at most", must: 1.4 },
      note: `${told(ours)}; the same transport alone ${ratioOf(alone).value.toFixed(2)} (${told(alone)})`,
    };
  } finally {
    await scene.close();
    await removeDirectory(directory);
  }
}

function told(blocks: readonly Block<number>[]): string {
  const middle = blocks[Math.floor(blocks.length / 2)];
  return middle === undefined ? "" : `${middle.subject.toFixed(3)} and ${middle.baseline.toFixed(3)} ms`;
}
