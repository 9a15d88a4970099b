/** While somebody keeps swapping a directory for a link that leads out, nothing is read or written out there. */
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect } from "vitest";
import { verifies } from "../../../requirements.ts";
import { CANARY, temporaryWorkspace } from "./temporary-workspace.ts";

const ROUNDS = 250;
const STOP = 0;
const SWAPS = 1;

verifies("S-4.2", "a swapped directory is never followed, however the race goes", async () => {
  const { call, root, outside, expectUntouched } = await temporaryWorkspace();
  await mkdir(join(root, "d"));
  // The names are the same inside and out, so that only the content tells where a read ended.
  await writeFile(join(root, "d/canary.txt"), "inside");
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const paths = { directory: join(root, "d"), aside: join(root, "aside"), outside };
  const swapper = new Worker(new URL("./directory-swapper.ts", import.meta.url), { workerData: { ...paths, shared } });
  const exited = once(swapper, "exit");
  try {
    await Promise.race([Atomics.waitAsync(shared, SWAPS, 0).value, exited]);
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await Promise.all([
        call("fs.read_text", { path: "d/canary.txt" }),
        call("fs.list_dir", { path: "d" }),
        call("fs.write_text", { path: `d/new-${round}.txt`, text: "x" }, { requestId: `new ${round}` }),
        call(
          "fs.write_text",
          { path: "d/over.txt", text: `${round}`, overwrite: true },
          { requestId: `over ${round}` },
        ),
      ]);
      expect(JSON.stringify(answers)).not.toContain(CANARY);
      for (const answer of answers) {
        if (!answer.ok) expect(["policy.denied", "invalid.request"]).toContain(answer.error.code);
      }
    }
  } finally {
    Atomics.store(shared, STOP, 1);
    await exited;
  }
  expect(shared[SWAPS]).toBeGreaterThan(0);
  await expectUntouched();
  const left = await readdir(root, { recursive: true });
  expect(left.filter((name) => name.endsWith(".tmp"))).toEqual([]);
});
