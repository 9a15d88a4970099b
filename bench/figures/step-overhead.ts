/**
 * What a durable step costs beyond asking the model and running the tool: the same conversation as a run and as a bare
 * loop over the same backend and toolbox, in D.
 *
 * A step is an inference with what follows from it; ten turns with a tool and the answer are eleven steps. The commit
 * that accepts the run and the one that seals it are spread over them. Streamed: each run is watched, and the loop streams.
 *
 * A gateway lives for weeks, so what counts is measured once V8 has compiled what a step needs, which takes it tens of
 * thousands of steps. What a step costs before that stands in the note.
 */
import { type Block, elapsedMs, measureBlocks, median } from "../blocks.ts";
import { openDurableInsert } from "../durable-insert.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import { transportLoop } from "../plain-loops.ts";
import type { Row } from "../row.ts";
import { configFor, makeHome, openScene, removeDirectory, stepsOf, temporaryDirectory } from "../scene.ts";

const TURNS = 10;
const INSERTS = 150;
/** Runs before a first look, and from there to what counts. */
const WARM_UP = { first: 60, later: 2440 };
const QUICK_WARM_UP = { first: 10, later: 40 };

export const stepOverhead: Figure = { name: "overhead", measure: (world) => measure(world, false) };
export const streamedOverhead: Figure = { name: "overhead-streamed", measure: (world) => measure(world, true) };

interface Sample {
  readonly stepMs: number;
  readonly insertMs: number;
}

async function measure({ isQuick, blocks, model, opening }: BenchWorld, isStreamed: boolean): Promise<readonly Row[]> {
  const runs = isQuick ? 10 : 40;
  const directory = await temporaryDirectory();
  const scene = await openScene(await makeHome(directory), configFor(model.ready, isStreamed));
  const loop = await transportLoop(model.ready, scene.home.workspace, opening, isStreamed);
  const asRun = () => scene.run({ turns: TURNS, tool: "fs.read_text", isWatched: isStreamed });
  const insert = await openDurableInsert();
  const perStep = async (one: () => Promise<void>): Promise<Sample> => {
    const ms = await elapsedMs(async () => {
      for (let run = 0; run < runs; run += 1) await one();
    });
    return { stepMs: ms / runs / stepsOf(TURNS), insertMs: await insert.measure(INSERTS) };
  };
  try {
    const warmUp = async (times: number) => {
      for (let done = 0; done < times; done += 1) {
        await asRun();
        await loop(TURNS);
      }
    };
    const inBlocks = (count: number) =>
      measureBlocks(
        count,
        () => perStep(asRun),
        () => perStep(() => loop(TURNS)),
      );
    const { first, later } = isQuick ? QUICK_WARM_UP : WARM_UP;
    await warmUp(first);
    const early = median((await inBlocks(1)).map(overheadIn));
    await warmUp(later);
    const measured = await inBlocks(blocks);
    const d = median(measured.flatMap(({ subject, baseline, again }) => [subject, baseline, again].map(insertMsOf)));
    const spread = median(measured.map(({ baseline, again }) => Math.abs(again.stepMs - baseline.stepMs) / d));
    const stepMs = median(measured.map(({ subject }) => subject.stepMs));
    const loopMs = median(measured.map(({ baseline }) => baseline.stepMs));
    return [
      {
        name: `overhead per read_only step${isStreamed ? ", streamed" : ""}`,
        value: median(measured.map(overheadIn)),
        spread,
        unit: "D",
        bound: { is: "at most", must: 4, aim: 2.5 },
        note: `D ${d.toFixed(3)} ms; step ${stepMs.toFixed(3)} ms, same transport alone ${loopMs.toFixed(3)} ms; ${early.toFixed(1)} D after ${first} runs`,
      },
    ];
  } finally {
    await insert.close();
    await scene.close();
    await removeDirectory(directory);
  }
}

/** In D. */
function overheadIn({ subject, baseline, again }: Block<Sample>): number {
  const insertMs = (subject.insertMs + baseline.insertMs + again.insertMs) / 3;
  return (subject.stepMs - (baseline.stepMs + again.stepMs) / 2) / insertMs;
}

function insertMsOf({ insertMs }: Sample): number {
  return insertMs;
}
