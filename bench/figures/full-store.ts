/**
 * A home with ten thousand ended runs beside one with ten: the list of the newest ten, the start and one run. Both are
 * filled by the real runtime with the built-in model, 64 runs at a time.
 */
import { join } from "node:path";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { elapsedMs, measureBlocks, ratioOf } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import { type Served, startGateway, tokenOf } from "../gateway-process.ts";
import { getOnce } from "../http-load.ts";
import type { Row } from "../row.ts";
import { makeHome, openScene, removeDirectory, temporaryDirectory } from "../scene.ts";

const FEW = 10;
const AT_ONCE = 64;
const TASK = "read n001.txt";

export const fullStore: Figure = { name: "full-store", measure };

async function measure({ isQuick, blocks }: BenchWorld): Promise<readonly Row[]> {
  const many = isQuick ? 1000 : 10_000;
  const directory = await temporaryDirectory();
  const homes = { full: join(directory, "full"), fresh: join(directory, "fresh") };
  try {
    await fill(homes.full, many);
    await fill(homes.fresh, FEW);
    const compare = async (name: string, costOf: (home: string) => () => Promise<number>): Promise<Row> => ({
      name: `${many.toLocaleString("en")} runs ÷ ${FEW}: ${name}`,
      ...ratioOf(await measureBlocks(blocks, costOf(homes.full), costOf(homes.fresh))),
      unit: "",
      bound: { is: "at most", must: 1.3 },
      note: "",
    });
    return [
      await compare("list of 10", (home) => () => listMs(home, isQuick ? 50 : 200)),
      await compare("start", (home) => () => startMs(home)),
      await compare("one run", (home) => () => runMs(home, isQuick ? 20 : 60)),
    ];
  } finally {
    await removeDirectory(directory);
  }
}

async function fill(directory: string, runs: number): Promise<void> {
  const scene = await openScene(await makeHome(directory), DEFAULT_CONFIG);
  let left = runs;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left > 0) {
        left -= 1;
        await scene.submit({ message: TASK });
      }
    }),
  );
  await scene.close();
}

async function listMs(home: string, requests: number): Promise<number> {
  const { child, url } = await startGateway(home);
  const headers = { authorization: `Bearer ${await tokenOf(home)}` };
  const list = (): Promise<unknown> => getOnce(`${url}/v1/runs?limit=10`, headers);
  for (let warmUp = 0; warmUp < requests; warmUp += 1) await list();
  const ms = await elapsedMs(async () => {
    for (let count = 0; count < requests; count += 1) await list();
  });
  await child.stop();
  return ms / requests;
}

async function startMs(home: string): Promise<number> {
  let total = 0;
  for (let count = 0; count < 3; count += 1) {
    let up: Served | null = null;
    total += await elapsedMs(async () => {
      up = await startGateway(home);
    });
    await (up as Served | null)?.child.stop();
  }
  return total / 3;
}

async function runMs(home: string, runs: number): Promise<number> {
  const scene = await openScene(await makeHome(home), DEFAULT_CONFIG);
  for (let warmUp = 0; warmUp < 10; warmUp += 1) await scene.submit({ message: TASK });
  const ms = await elapsedMs(async () => {
    for (let run = 0; run < runs; run += 1) await scene.submit({ message: TASK });
  });
  await scene.close();
  return ms / runs;
}
