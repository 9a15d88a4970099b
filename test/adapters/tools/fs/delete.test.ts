import { execFile } from "node:child_process";
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { closeDirectory, openRoot } from "../../../../src/adapters/tools/fs/directory-handle.ts";
import { findToolStateDirectory } from "../../../../src/adapters/tools/fs/tool-state-directory.ts";
import { emptyTrash, listTrash, moveToTrash, restoreTrash } from "../../../../src/adapters/tools/fs/trash.ts";
import { hashCanonical } from "../../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../../requirements.ts";
import { temporaryWorkspace } from "./temporary-workspace.ts";

const KEY = hashCanonical("the key of the call");
const ANOTHER_KEY = hashCanonical("the key of another call");

async function workspaceWithTree() {
  const made = await temporaryWorkspace();
  const { root, workspace, annex, outside } = made;
  await mkdir(join(root, "d/e"), { recursive: true });
  await mkdir(join(root, "empty"));
  await writeFile(join(root, "d/a.txt"), "hé");
  await writeFile(join(root, "d/e/b.txt"), "b");
  await symlink(outside, join(root, "d/link"));
  await promisify(execFile)("mkfifo", [join(root, "d/pipe")]);
  const found = () => findToolStateDirectory(workspace, annex);
  return {
    ...made,
    trash: async () => await listTrash(await found()),
    restore: async (id: string) => await restoreTrash(workspace, await found(), id),
  };
}

async function snapshotOf(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const lines = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    const { mode, mtimeMs, ino } = await lstat(path);
    const content = entry.isFile() ? await readFile(path, "utf8") : entry.isSymbolicLink() ? await readlink(path) : "";
    return `${path} ${mode} ${entry.isDirectory() ? "" : mtimeMs} ${ino} ${content}`;
  });
  return (await Promise.all(lines)).toSorted();
}

test("parameters, defaults and promise", async () => {
  const { plan, root } = await workspaceWithTree();
  expect(await plan("fs.delete", { path: "d/a.txt" })).toMatchObject({
    args: { path: "d/a.txt", recursive: false },
    risk: "side_effect",
    idempotency: "keyed",
    plan: { cwd: { path: join(root, "d") }, scriptHashes: [expect.any(String)], targets: [join(root, "d/a.txt")] },
  });
});

test.each([
  ["fs.delete", { path: "d/a.txt" }, { path: "d/a.txt", type: "file", entries: 1, bytes: 3 }],
  ["file_delete", { file_path: "empty/" }, { path: "empty", type: "directory", entries: 1, bytes: 0 }],
  ["fs.delete", { path: "d", recursive: true }, { path: "d", type: "directory", entries: 6, bytes: 4 }],
])("%s %j moves it to the trash, and restoring brings it back unchanged", async (tool, args, output) => {
  const { call, root, outside, trash, restore, expectUntouched } = await workspaceWithTree();
  const before = await snapshotOf(root);
  const answer = await call(tool, args, { idempotencyKey: KEY });
  expect(answer).toEqual({ ok: true, output: { ...output, trash_id: expect.any(String) } });
  await expect(lstat(join(root, output.path))).rejects.toThrow("ENOENT");
  const [trashed] = await trash();
  expect(trashed).toMatchObject({ ...output, root, deletedAt: "1970-01-01T00:00:00.000Z", runId: "run_1" });
  expect(await restore(trashed?.id ?? "")).toMatchObject(output);
  expect(await snapshotOf(root)).toEqual(before);
  expect(await trash()).toEqual([]);
  expect(await readdir(outside)).toEqual(["canary.txt"]);
  await expectUntouched();
});

describe("refused, and nothing is moved", () => {
  test.each([
    ["the workspace", { path: "." }, "policy.denied"],
    ["the workspace, roundabout", { path: "d/..", recursive: true }, "policy.denied"],
    ["what is outside", { path: "../outside/canary.txt" }, "policy.denied"],
    ["a directory that is not empty", { path: "d" }, "invalid.request"],
    ["what is not there", { path: "none" }, "invalid.request"],
    ["what is nowhere", { path: "none/x" }, "invalid.request"],
    ["a link", { path: "d/link", recursive: true }, "policy.denied"],
    ["what is behind a link", { path: "d/link/canary.txt" }, "policy.denied"],
    ["a pipe", { path: "d/pipe" }, "policy.denied"],
  ])("%s", async (_what, args, code) => {
    const { toolbox, root, annex, expectUntouched } = await workspaceWithTree();
    const before = await snapshotOf(root);
    expect(await toolbox.plan("fs.delete", args)).toMatchObject({ ok: false, error: { code } });
    expect(await snapshotOf(root)).toEqual(before);
    await expect(readdir(annex)).rejects.toThrow("ENOENT");
    await expectUntouched();
  });

  test("more than can be shown", async () => {
    const { toolbox, root } = await temporaryWorkspace();
    await mkdir(join(root, "d"));
    for (let index = 0; index < 1_000; index += 1) await writeFile(join(root, `d/${index}`), "");
    expect(await toolbox.plan("fs.delete", { path: "d", recursive: true })).toMatchObject({
      error: { code: "invalid.request", message: expect.stringContaining("more than 1000") },
    });
    await rm(join(root, "d/7"));
    expect(await toolbox.plan("fs.delete", { path: "d", recursive: true })).toMatchObject({ ok: true });
  });
});

verifies("S-4.2", "deleting a hard-linked file removes only the name in the workspace", async () => {
  const { call, root, outside, expectUntouched } = await temporaryWorkspace();
  await link(join(outside, "canary.txt"), join(root, "hard.txt"));
  expect(await call("fs.delete", { path: "hard.txt" })).toMatchObject({ ok: true });
  expect(await readdir(root)).toEqual([]);
  await expectUntouched();
});

test("an approver sees every deleted name, in a form that cannot be imitated", async () => {
  const { plan, root } = await workspaceWithTree();
  await writeFile(join(root, "d/e/c\n| x"), "");
  const { shown } = await plan("fs.delete", { path: "d", recursive: true });
  expect(shown.split("\n")).toEqual([
    "Move a directory to the trash; it can be restored",
    `  path:    ${JSON.stringify(join(root, "d"))}`,
    "  bytes:   4",
    "  holds:   3 files, 1 directories, 1 links, 1 others",
    "  all of them, each behind a bar:",
    '| "d/a.txt"',
    '| "d/e" (directory)',
    '| "d/e/b.txt"',
    '| "d/e/c\\n| x"',
    '| "d/link" (symlink)',
    '| "d/pipe" (other)',
  ]);
});

describe("a plan is for what was there when it was made", () => {
  const swaps: readonly (readonly [string, (root: string, outside: string) => Promise<void>])[] = [
    ["another content of the same length", (root) => writeFile(join(root, "d/e/b.txt"), "c")],
    [
      "another content of a file too large to be read whole",
      async (root) => {
        const file = await open(join(root, "d/e/huge"), "r+");
        const { ctimeNs } = await file.stat({ bigint: true });
        // The system's clock for files may tick slowly: what comes within one tick cannot be told from what was before.
        do await file.write("x", 2 ** 30);
        while ((await file.stat({ bigint: true })).ctimeNs === ctimeNs);
        await file.close();
      },
    ],
    ["other permissions", (root) => chmod(join(root, "d/e/b.txt"), 0o777)],
    ["one file more", (root) => writeFile(join(root, "d/e/new.txt"), "")],
    ["one file less", (root) => rm(join(root, "d/e/b.txt"))],
    ["another name", (root) => rename(join(root, "d/e/b.txt"), join(root, "d/e/c.txt"))],
    [
      "another directory of the same kind",
      async (root) => {
        await rename(join(root, "d/e"), join(root, "was"));
        await mkdir(join(root, "d/e"));
        await writeFile(join(root, "d/e/b.txt"), "b");
      },
    ],
    [
      "a link in its place",
      async (root, outside) => {
        await rename(join(root, "d/e"), join(root, "was"));
        await symlink(outside, join(root, "d/e"));
      },
    ],
    [
      "a link for the directory it is in",
      async (root) => {
        await rename(join(root, "d"), join(root, "was"));
        await symlink("was", join(root, "d"));
      },
    ],
    [
      "another directory around it",
      async (root) => {
        await rename(join(root, "d"), join(root, "was"));
        await mkdir(join(root, "d"));
        await rename(join(root, "was/e"), join(root, "d/e"));
      },
    ],
  ];
  for (const [what, swap] of swaps) {
    verifies("S-4.2", `after a swap the old one moves nothing: ${what}`, async () => {
      const { toolbox, plan, run, root, outside, trash, expectUntouched } = await workspaceWithTree();
      const args = { path: "d/e", recursive: true };
      await writeFile(join(root, "d/e/huge"), "");
      await truncate(join(root, "d/e/huge"), 2 ** 31);
      const approved = await plan("fs.delete", args);
      expect((await plan("fs.delete", args)).plan).toEqual(approved.plan);
      await swap(root, outside);
      const again = await toolbox.plan("fs.delete", args);
      expect(again.ok ? again.plan : null).not.toEqual(approved.plan);
      const before = (await readdir(root, { recursive: true })).toSorted();
      expect(await run(approved)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
      expect((await readdir(root, { recursive: true })).toSorted()).toEqual(before);
      expect(await trash()).toEqual([]);
      await expectUntouched();
    });
  }

  verifies("S-4.2", "a file swapped in at the last moment is moved back", async () => {
    const { root, workspace, annex, outside, trash } = await workspaceWithTree();
    const { dev, ino } = await lstat(join(root, "d/a.txt"), { bigint: true });
    await rename(join(root, "d/a.txt"), join(root, "d/was.txt"));
    await symlink(join(outside, "canary.txt"), join(root, "d/a.txt"));
    const { openToolStateDirectory } = await import("../../../../src/adapters/tools/fs/tool-state-directory.ts");
    const held = openRoot(join(root, "d"), workspace.traversal);
    const id = "0123456789abcdef-0123456789abcdef";
    const about = { id, root, path: "d/a.txt", type: "file", entries: 1, bytes: 3, deletedAt: "", runId: "" } as const;
    try {
      const thing = { name: "a.txt", device: dev, inode: ino };
      const { signal } = new AbortController();
      expect(await moveToTrash(await openToolStateDirectory(workspace, annex), about, held, thing, signal)).toBe(false);
    } finally {
      closeDirectory(held);
    }
    expect(await readlink(join(root, "d/a.txt"))).toBe(join(outside, "canary.txt"));
    expect(await trash()).toEqual([]);
    expect(await readdir(join(annex, "trash"))).toEqual([]);
  });
});

describe("repeated after a crash", () => {
  const repeat = { isRepeat: true, idempotencyKey: KEY };
  const args = { path: "d", recursive: true };

  test("a deletion already done succeeds without asking and leaves newer files alone", async () => {
    const { call, plan, root, trash } = await workspaceWithTree();
    const first = await call("fs.delete", args, { idempotencyKey: KEY });
    expect(await plan("fs.delete", args)).toMatchObject({ risk: "read_only", plan: { scriptHashes: [] } });
    for (const mayAct of [true, false]) expect(await call("fs.delete", args, { ...repeat, mayAct })).toEqual(first);
    await mkdir(join(root, "d"));
    expect(await call("fs.delete", args, { ...repeat, mayAct: false })).toEqual(first);
    expect((await stat(join(root, "d"))).isDirectory()).toBe(true);
    expect(await trash()).toHaveLength(1);
  });

  test("another call for what is in the trash already finds nothing to delete", async () => {
    const { call } = await workspaceWithTree();
    await call("fs.delete", args, { idempotencyKey: KEY });
    expect(await call("fs.delete", args, { idempotencyKey: ANOTHER_KEY })).toMatchObject({
      error: { code: "invalid.request" },
    });
    expect(await call("fs.delete", args, { ...repeat, idempotencyKey: ANOTHER_KEY, mayAct: false })).toMatchObject({
      error: { code: "policy.denied" },
    });
  });

  test("begun and not done, it is done", async () => {
    const { call, root, annex, trash } = await workspaceWithTree();
    await call("fs.delete", args, { idempotencyKey: KEY });
    const [{ id = "" } = {}] = await trash();
    // As it was between the manifest and the move.
    await rename(join(annex, "trash", id, "item"), join(root, "d"));
    expect(await call("fs.delete", args, repeat)).toMatchObject({ ok: true, output: { trash_id: id } });
    expect(await readdir(root)).toEqual(["empty"]);
    expect(await trash()).toHaveLength(1);
  });

  test("where the world has changed since, it does nothing", async () => {
    const { call, root, trash } = await workspaceWithTree();
    expect(await call("fs.delete", args, { ...repeat, mayAct: false })).toMatchObject({
      error: { code: "policy.denied" },
    });
    expect(await readdir(join(root, "d"))).toHaveLength(4);
    expect(await trash()).toEqual([]);
  });
});

describe("the trash", () => {
  test("keeps what was deleted twice from one place apart", async () => {
    const { call, root, trash, restore } = await workspaceWithTree();
    await call("fs.delete", { path: "d/a.txt" }, { idempotencyKey: KEY });
    await writeFile(join(root, "d/a.txt"), "second");
    await call("fs.delete", { path: "d/a.txt" }, { idempotencyKey: ANOTHER_KEY });
    const second = (await trash()).find(({ bytes }) => bytes === 6);
    await restore(second?.id ?? "");
    expect(await readFile(join(root, "d/a.txt"), "utf8")).toBe("second");
    expect(await trash()).toHaveLength(1);
  });

  test("makes the directories it needs, and replaces nothing", async () => {
    const { call, root, trash, restore } = await workspaceWithTree();
    await call("fs.delete", { path: "d/e/b.txt" }, { idempotencyKey: KEY });
    await call("fs.delete", { path: "d/e" }, { idempotencyKey: KEY });
    const [first, second] = (await trash()).toSorted((a, b) => a.path.length - b.path.length);
    await restore(second?.id ?? "");
    expect(await readFile(join(root, "d/e/b.txt"), "utf8")).toBe("b");
    await expect(restore(first?.id ?? "")).rejects.toThrow("again");
    await writeFile(join(root, "d/a.txt"), "kept");
    expect(await trash()).toHaveLength(1);
  });

  verifies("S-4.2", "restores to nowhere but the workspace it came from, whatever the manifest says", async () => {
    const { call, root, annex, outside, trash, restore, expectUntouched } = await workspaceWithTree();
    await call("fs.delete", { path: "d/a.txt" }, { idempotencyKey: KEY });
    const [{ id = "" } = {}] = await trash();
    const manifest = join(annex, "trash", id, "manifest.json");
    const said = JSON.parse(await readFile(manifest, "utf8"));
    for (const lie of [
      { path: "../outside/new" },
      { path: join(outside, "new") },
      { path: "d/link/new" },
      { path: "." },
      { root: outside },
      { path: 7 },
      { path: "" },
    ]) {
      await writeFile(manifest, JSON.stringify({ ...said, ...lie }));
      await expect((async () => await restore(id))()).rejects.toThrow();
      await expectUntouched();
    }
    await expect((async () => await restore("../edits"))()).rejects.toThrow("trash");
    await writeFile(manifest, JSON.stringify(said));
    await restore(id);
    expect(await readFile(join(root, "d/a.txt"), "utf8")).toBe("hé");
  });
});

test("whatever the tree, deleted and restored it is the same", async () => {
  const place = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 });
  const node = fc.record({ kind: fc.constantFrom("file", "directory", "link"), at: place });
  await fc.assert(
    fc.asyncProperty(fc.array(node, { minLength: 1, maxLength: 12 }), async (nodes) => {
      const { call, root, workspace, annex, expectUntouched } = await temporaryWorkspace();
      for (const { kind, at } of nodes) {
        const path = join(root, "t", ...at);
        await mkdir(join(path, ".."), { recursive: true }).catch(() => null);
        if (kind === "file") await writeFile(path, at.join(), { flag: "wx" }).catch(() => null);
        else if (kind === "directory") await mkdir(path).catch(() => null);
        else await symlink("nowhere", path).catch(() => null);
      }
      const before = await snapshotOf(root);
      const answer = await call("fs.delete", { path: "t", recursive: true });
      if (!answer.ok) throw new Error(answer.error.message);
      expect(await readdir(root)).toEqual([]);
      const { trash_id: id } = answer.output as { trash_id: string };
      await restoreTrash(workspace, await findToolStateDirectory(workspace, annex), id);
      expect(await snapshotOf(root)).toEqual(before);
      await expectUntouched();
    }),
    { numRuns: 60 },
  );
});

describe("emptying the trash", () => {
  const AT_0 = 1;

  test("removes whole trees and follows no link; what was deleted later stays", async () => {
    const { call, trash, workspace, annex, expectUntouched } = await workspaceWithTree();
    await call("fs.delete", { path: "d", recursive: true }, { idempotencyKey: KEY });
    const found = await findToolStateDirectory(workspace, annex);
    expect(await emptyTrash(found, 0)).toEqual({ removed: [], failed: [] });
    const before = await trash();
    expect(await emptyTrash(found, AT_0)).toEqual({ removed: before, failed: [] });
    expect([await trash(), await readdir(join(annex, "trash"))]).toEqual([[], []]);
    await expectUntouched();
  });

  test("a half-removed item cannot be restored and is removed by the next run", async () => {
    const { call, trash, restore, workspace, annex } = await workspaceWithTree();
    await call("fs.delete", { path: "d", recursive: true }, { idempotencyKey: KEY });
    const [{ id } = { id: "" }] = await trash();
    await rename(join(annex, "trash", id, "item"), join(annex, "trash", id, "going"));
    expect(await trash()).toEqual([]);
    await expect(async () => await restore(id)).rejects.toThrow("is not in the trash");
    const found = await findToolStateDirectory(workspace, annex);
    expect(await emptyTrash(found, 0)).toEqual({ removed: [], failed: [] });
    expect(await readdir(join(annex, "trash"))).toEqual([]);
  });

  test("what is on its way into the trash is left alone", async () => {
    const { workspace, annex } = await workspaceWithTree();
    const entry = join(annex, "trash", "0123456789abcdef-0123456789abcdef");
    await mkdir(entry, { recursive: true });
    await writeFile(join(entry, "manifest.json"), "{}");
    await emptyTrash(await findToolStateDirectory(workspace, annex), Number.POSITIVE_INFINITY);
    expect(await readdir(entry)).toEqual(["manifest.json"]);
  });
});
