/**
 * What an ended run costs in the database once it is archived, beside the bytes of its exported bundle. Filled by the real runtime
 * with the built-in model: one message, one call of a tool, an answer.
 */
import { stat } from "node:fs/promises";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import type { Row } from "../row.ts";
import { makeHome, openScene, removeDirectory, temporaryDirectory } from "../scene.ts";

const AT_ONCE = 64;
const SAMPLED = 20;
const TASK = "read n001.txt";
const LATER = "2999-01-01T00:00:00.000Z";
const RUNS_AT_ONCE = 20;

export const archive: Figure = { name: "archive", measure };

async function measure({ isQuick }: BenchWorld): Promise<readonly Row[]> {
  const runs = isQuick ? 500 : 2_000;
  const directory = await temporaryDirectory();
  try {
    const home = await makeHome(directory);
    const scene = await openScene(home, DEFAULT_CONFIG);
    let left = runs;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (left > 0) {
          left -= 1;
          await scene.submit({ message: TASK });
        }
      }),
    );
    const { store, assistant } = scene.surety;
    const before = await databaseBytes(home.database);
    const startedAt = performance.now();
    while (await store.archive(LATER, RUNS_AT_ONCE));
    const ms = performance.now() - startedAt;
    const { runs: sampled } = await store.listRuns({ limit: SAMPLED, offset: 0 });
    const bundles = await Promise.all(sampled.map(({ runId }) => assistant.bundle(runId)));
    const sizes = bundles.map((bundle) => (bundle.ok ? Buffer.byteLength(bundle.text) : 0));
    const bundleBytes = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    await scene.close();
    const after = await databaseBytes(home.database);
    const perRun = (bytes: number): string => `${(bytes / runs / 1024).toFixed(1)} KiB`;
    return [
      {
        name: `database bytes per ended run after archiving ÷ its bundle, ${runs.toLocaleString("en")} runs`,
        ...{ value: after / runs / bundleBytes, spread: 0, unit: "", bound: { is: "at most", must: 0.4, aim: 0.2 } },
        note: `${perRun(before)} → ${perRun(after)}, bundle ${(bundleBytes / 1024).toFixed(1)} KiB`,
      },
      { name: "archiving", value: ms / runs, spread: 0, unit: "ms per run", bound: null, note: "while idle" },
    ];
  } finally {
    await removeDirectory(directory);
  }
}

async function databaseBytes(file: string): Promise<number> {
  return (await stat(file)).size;
}
