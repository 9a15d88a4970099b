/** While another thread swaps a directory for a link that leads out, nothing outside is read or written. */
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect } from "vitest";
import { expectedFailure } from "../../../../src/adapters/tools/fs/fs-failure.ts";
import { type Match, type SearchResult, searchTree } from "../../../../src/adapters/tools/fs/search-tree.ts";
import { ToolFailure } from "../../../../src/adapters/tools/tool-failure.ts";
import { verifies } from "../../../requirements.ts";
import { CANARY, temporaryWorkspace } from "./temporary-workspace.ts";

const ROUNDS = 250;
const STOP = 0;
const SWAPS = 1;

verifies("S-4.2/race", "a swapped directory is never followed, however the race goes", async () => {
  const { call, root, outside, workspace, expectUntouched } = await temporaryWorkspace();
  await mkdir(join(root, "d"));
  // The names are the same inside and out, so that only the content tells where a read ended.
  await writeFile(join(root, "d/canary.txt"), "inside");
  await writeFile(join(root, "d/edited.txt"), "0");
  for (let round = 0; round < ROUNDS; round += 1) await writeFile(join(root, `d/old-${round}.txt`), "");
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const paths = { directory: join(root, "d"), aside: join(root, "aside"), outside };
  const swapper = new Worker(new URL("./directory-swapper.ts", import.meta.url), { workerData: { ...paths, shared } });
  const exited = once(swapper, "exit");
  try {
    await Promise.race([Atomics.waitAsync(shared, SWAPS, 0).value, exited]);
    let edits = 0;
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
        call("fs.stat", { path: "d/canary.txt" }),
        call(
          "fs.edit",
          { path: "d/edited.txt", old_text: `${edits}`, new_text: `${edits + 1}` },
          { requestId: `edit ${round}` },
        ),
        call("fs.delete", { path: `d/old-${round}.txt` }, { requestId: `old ${round}` }),
        call("fs.delete", { path: "d/canary.txt" }, { requestId: `canary ${round}`, mayAct: false }),
      ]);
      if (answers[5].ok) edits += 1;
      if (answers[4].ok) expect(answers[4].output).toMatchObject({ bytes: "inside".length });
      const search = {
        names: ["d"],
        pattern: "canary|inside",
        regex: true,
        ignoreCase: false,
        glob: "",
        maxResults: 5,
      };
      const found = searched(() => searchTree({ ...workspace, ...search }));
      expect(JSON.stringify(found)).not.toContain("nobody");
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

verifies("S-4.2", "a file swapped for a link is never followed, in the root itself either", async () => {
  const { call, root, outside } = await temporaryWorkspace();
  await writeFile(join(root, "a.txt"), "inside");
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const paths = { directory: join(root, "a.txt"), aside: join(root, "aside"), outside: join(outside, "canary.txt") };
  const swapper = new Worker(new URL("./directory-swapper.ts", import.meta.url), { workerData: { ...paths, shared } });
  const exited = once(swapper, "exit");
  try {
    await Promise.race([Atomics.waitAsync(shared, SWAPS, 0).value, exited]);
    for (let round = 0; round < 20 * ROUNDS; round += 1) {
      const answer = await call("fs.read_text", { path: "a.txt" });
      if (answer.ok) expect(answer.output).toMatchObject({ text: "inside" });
      else expect(["policy.denied", "invalid.request"]).toContain(answer.error.code);
    }
  } finally {
    Atomics.store(shared, STOP, 1);
    await exited;
  }
  expect(shared[SWAPS]).toBeGreaterThan(0);
});

/** What is refused or not there is as good as nothing found. */
function searched(search: () => SearchResult): readonly Match[] {
  try {
    return search().matches;
  } catch (error) {
    if (error instanceof ToolFailure || expectedFailure(error, "d") !== null) return [];
    throw error;
  }
}
