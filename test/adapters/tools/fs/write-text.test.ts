import { link, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { atomicWrite } from "../../../../src/adapters/tools/fs/atomic-write.ts";
import { openRoot } from "../../../../src/adapters/tools/fs/directory-handle.ts";
import { hashBytes, hashCanonical } from "../../../../src/kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { temporaryWorkspace } from "./temporary-workspace.ts";

const KEY = hashCanonical("the key of the call");
const TEMPORARY = `.surety-${KEY.slice(0, 32)}.tmp`;

test("parameters, defaults and promise", async () => {
  const { plan } = await temporaryWorkspace();
  expect(await plan("fs.write_text", { path: "a.txt", text: "x" })).toMatchObject({
    args: { path: "a.txt", text: "x", overwrite: false },
    risk: "side_effect",
    idempotency: "keyed",
    labels: USER_LABELS,
  });
});

test.each([
  ["fs.write_text", { path: "d/e/a.txt", text: "hé\n" }],
  ["fs.write", { path: "d/e/a.txt", content: "hé\n" }],
  ["file_write", { file_path: "d/e/a.txt", content: "hé\n" }],
])("%s writes a new file, for its owner alone, and leaves nothing else", async (tool, args) => {
  const { call, root } = await temporaryWorkspace();
  expect(await call(tool, args)).toEqual({ ok: true, output: { path: "d/e/a.txt", bytes: 4, created: true } });
  expect(await readFile(join(root, "d/e/a.txt"), "utf8")).toBe("hé\n");
  expect((await stat(join(root, "d/e/a.txt"))).mode & 0o777).toBe(0o600);
  expect((await stat(join(root, "d/e"))).mode & 0o777).toBe(0o700);
  expect((await stat(join(root, "d/e/a.txt"))).nlink).toBe(1);
  expect(await readdir(root, { recursive: true })).toEqual(["d", "d/e", "d/e/a.txt"]);
});

test("a workspace that is missing is made, for its owner alone", async () => {
  const { root } = await temporaryWorkspace();
  expect((await stat(root)).mode & 0o777).toBe(0o700);
});

describe("what is there already", () => {
  test("is not replaced without overwrite, not even by the same text", async () => {
    const { call, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "old");
    for (const text of ["new", "old"]) {
      const answer = await call("fs.write_text", { path: "a.txt", text });
      expect(answer).toMatchObject({
        ok: false,
        error: { code: "invalid.request", message: expect.stringContaining("overwrite") },
      });
    }
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("old");
    expect(await readdir(root)).toEqual(["a.txt"]);
  });

  test("is replaced whole with it; another name of the same file keeps the old content", async () => {
    const { call, root, outside, expectUntouched } = await temporaryWorkspace();
    await link(join(outside, "canary.txt"), join(root, "a.txt"));
    expect(await call("fs.write_text", { path: "a.txt", text: "new", overwrite: true })).toEqual({
      ok: true,
      output: { path: "a.txt", bytes: 3, created: false },
    });
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("new");
    expect(await readdir(root)).toEqual(["a.txt"]);
    await expectUntouched();
  });

  test("is in the plan as a text to compare, of the very bytes that are bound; not if it is long or no text", async () => {
    const { plan, root } = await temporaryWorkspace();
    const replacedAs = async (content: string | Buffer) => {
      await writeFile(join(root, "a.txt"), content);
      const { replaces, plan: bound } = await plan("fs.write_text", { path: "a.txt", text: "new", overwrite: true });
      expect(bound.scriptHashes).toEqual([hashBytes(Buffer.from(content))]);
      return replaces;
    };
    expect(await replacedAs("old é\n")).toBe("old é\n");
    expect(await replacedAs("x".repeat(65_536))).toHaveLength(65_536);
    expect(await replacedAs("x".repeat(65_537))).toBeUndefined();
    expect(await replacedAs(Buffer.from([0xff, 0xfe]))).toBeUndefined();
    expect((await plan("fs.write_text", { path: "b.txt", text: "new" })).replaces).toBeUndefined();
  });

  test("if it appears after planning, it is not replaced", async () => {
    for (const overwrite of [false, true]) {
      const { plan, run, root } = await temporaryWorkspace();
      const planned = await plan("fs.write_text", { path: "d/a.txt", text: "new", overwrite });
      await mkdir(join(root, "d"));
      await writeFile(join(root, "d/a.txt"), "theirs");
      const code = overwrite ? "policy.denied" : "invalid.request";
      expect(await run(planned)).toMatchObject({ ok: false, error: { code } });
      expect(await readFile(join(root, "d/a.txt"), "utf8")).toBe("theirs");
      expect(await readdir(join(root, "d"))).toEqual(["a.txt"]);
    }
  });

  test("if it is no regular file, nothing happens to it", async () => {
    const { call, root, outside, expectUntouched } = await temporaryWorkspace();
    await mkdir(join(root, "dir"));
    await symlink(join(outside, "canary.txt"), join(root, "link"));
    await symlink(join(outside, "new.txt"), join(root, "dangling"));
    for (const overwrite of [false, true]) {
      for (const [path, code] of [
        ["dir", "invalid.request"],
        ["link", "policy.denied"],
        ["dangling", "policy.denied"],
      ] as const) {
        expect(await call("fs.write_text", { path, text: "x", overwrite })).toMatchObject({ error: { code } });
      }
    }
    expect((await readdir(root)).toSorted()).toEqual(["dangling", "dir", "link"]);
    await expectUntouched();
  });
});

describe("the plan", () => {
  test("names the file, its directory by device and inode, and the content it replaces", async () => {
    const { plan, root } = await temporaryWorkspace();
    await mkdir(join(root, "d"));
    await writeFile(join(root, "d/a.txt"), "old");
    const { plan: bound } = await plan("fs.write_text", { path: "d/a.txt", text: "x", overwrite: true });
    const { dev, ino } = await stat(join(root, "d"), { bigint: true });
    expect(bound).toMatchObject({
      cwd: { path: join(root, "d"), device: `${dev}`, inode: `${ino}` },
      scriptHashes: [hashBytes("old")],
      targets: [join(root, "d/a.txt")],
    });
  });

  test("starts at the last directory that is there", async () => {
    const { plan, root } = await temporaryWorkspace();
    const { ino } = await stat(root, { bigint: true });
    const planned = await plan("fs.write_text", { path: "d/e/a.txt", text: "x", overwrite: true });
    expect(planned.plan).toMatchObject({ cwd: { path: root, inode: `${ino}` }, scriptHashes: [] });
    expect(planned.shown).toContain('creates:  the directories "d/e"');
  });

  const swaps: readonly (readonly [string, (root: string, outside: string) => Promise<void>])[] = [
    [
      "another directory",
      async (root) => {
        await rename(join(root, "d"), join(root, "was"));
        await mkdir(join(root, "d"));
        await writeFile(join(root, "d/a.txt"), "old");
      },
    ],
    ["another content", (root) => writeFile(join(root, "d/a.txt"), "other")],
    ["no file any more", (root) => rm(join(root, "d/a.txt"))],
    [
      "a link for the directory",
      async (root, outside) => {
        await rename(join(root, "d"), join(root, "was"));
        await symlink(outside, join(root, "d"));
      },
    ],
    [
      "a link for the file",
      async (root, outside) => {
        await rm(join(root, "d/a.txt"));
        await symlink(join(outside, "canary.txt"), join(root, "d/a.txt"));
      },
    ],
  ];
  test.each(swaps)("is another plan, or none, after a swap: %s; the old one writes nothing", async (_what, swap) => {
    const { toolbox, plan, run, root, outside, expectUntouched } = await temporaryWorkspace();
    await mkdir(join(root, "d"));
    await writeFile(join(root, "d/a.txt"), "old");
    const args = { path: "d/a.txt", text: "new", overwrite: true };
    const approved = await plan("fs.write_text", args);
    expect((await plan("fs.write_text", args)).plan).toEqual(approved.plan);
    await swap(root, outside);
    const again = await toolbox.plan("fs.write_text", args);
    expect(again.ok ? again.plan : null).not.toEqual(approved.plan);
    const before = await snapshotOf(root);
    expect(await run(approved)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(await snapshotOf(root)).toEqual(before);
    await expectUntouched();
  });

  test("changes nothing", async () => {
    const { plan, root } = await temporaryWorkspace();
    await plan("fs.write_text", { path: "d/e/a.txt", text: "x", overwrite: true });
    expect(await readdir(root)).toEqual([]);
  });
});

async function snapshotOf(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const lines = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    return `${path} ${entry.isFile() ? await readFile(path, "utf8") : entry.isSymbolicLink()}`;
  });
  return (await Promise.all(lines)).toSorted();
}

describe("an approver is shown", () => {
  test("the path, the size, what is replaced and the whole text, which cannot pass for more", async () => {
    const { plan, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "old!");
    const text = `${"x".repeat(300_000)}\n  path:     "/safe"\n\u001b[2J\u202e`;
    const { shown } = await plan("fs.write_text", { path: "a.txt", text, overwrite: true });
    const lines = shown.split("\n");
    expect(
      lines
        .filter((line) => line.startsWith("| "))
        .map((line) => line.slice(2))
        .join("\n"),
    ).toBe(text);
    expect(lines.filter((line) => !line.startsWith("| "))).toEqual([
      "Replace a file",
      `  path:     ${JSON.stringify(join(root, "a.txt"))}`,
      `  bytes:    ${Buffer.byteLength(text)}`,
      `  replaces: 4 bytes, sha256 ${hashBytes("old!")}`,
      "  warning:  2 control or invisible characters in the text",
      "  the whole text, each line behind a bar:",
    ]);
  });

  test("a new file as new", async () => {
    const { plan } = await temporaryWorkspace();
    const { shown } = await plan("fs.write_text", { path: "a.txt", text: "" });
    expect(shown).toMatch(/^Write a new file\n {2}path: .*\n {2}bytes: {4}0\n {2}the whole text.*\n\| $/);
  });
});

test.each<[string, object, RegExp]>([
  ["too much", { text: "é".repeat(524_289) }, /1048578 bytes/],
  ["NUL", { text: "a\0b" }, /NUL/],
  ["a directory", { path: "a/" }, /directory/],
])("%s is refused at planning", async (_what, change, message) => {
  const { toolbox, root } = await temporaryWorkspace();
  const answer = await toolbox.plan("fs.write_text", { path: "a.txt", text: "x", ...change });
  expect(answer).toMatchObject({ ok: false, error: { code: "tool.input_invalid" } });
  if (!answer.ok) expect(answer.error.message).toMatch(message);
  expect(await readdir(root)).toEqual([]);
});

describe("repeated after a crash", () => {
  const crashes: readonly (readonly [string, boolean, (root: string) => Promise<unknown>])[] = [
    ["before anything", false, async () => await Promise.resolve()],
    ["while writing", false, (root) => writeFile(join(root, TEMPORARY), "ne")],
    [
      "between its two names",
      false,
      async (root) => {
        await writeFile(join(root, TEMPORARY), "new");
        await link(join(root, TEMPORARY), join(root, "a.txt"));
      },
    ],
    ["before it was told", false, (root) => writeFile(join(root, "a.txt"), "new")],
    ["before it replaced", true, (root) => writeFile(join(root, "a.txt"), "old")],
    [
      "while writing what replaces",
      true,
      async (root) => {
        await writeFile(join(root, "a.txt"), "old");
        await writeFile(join(root, TEMPORARY), "new");
      },
    ],
    ["after it replaced", true, (root) => writeFile(join(root, "a.txt"), "new")],
  ];
  test.each(crashes)("%s (overwrite: %s), it succeeds once, and clears up", async (_when, overwrite, crash) => {
    const { call, root } = await temporaryWorkspace();
    await crash(root);
    const args = { path: "a.txt", text: "new", overwrite };
    expect(await call("fs.write_text", args, { isRepeat: true, idempotencyKey: KEY })).toEqual({
      ok: true,
      output: { path: "a.txt", bytes: 3, created: !overwrite },
    });
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("new");
    expect((await stat(join(root, "a.txt"))).nlink).toBe(1);
    expect(await readdir(root)).toEqual(["a.txt"]);
  });

  test("where the world has changed since, it says that it was done, or does nothing", async () => {
    const { call, root } = await temporaryWorkspace();
    const repeat = { isRepeat: true, mayAct: false, idempotencyKey: KEY };
    const answer = await call("fs.write_text", { path: "a.txt", text: "new" }, repeat);
    expect(answer).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(await readdir(root)).toEqual([]);
    await writeFile(join(root, "a.txt"), "new");
    expect(await call("fs.write_text", { path: "a.txt", text: "new" }, repeat)).toMatchObject({ ok: true });
  });

  test("what others wrote there meanwhile is left alone", async () => {
    const { call, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "theirs");
    const answer = await call("fs.write_text", { path: "a.txt", text: "new" }, { isRepeat: true, idempotencyKey: KEY });
    expect(answer).toMatchObject({ ok: false, error: { code: "invalid.request" } });
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("theirs");
  });
});

describe("after a failure nothing is left over", () => {
  test("stopped after writing, before the name was taken", async () => {
    const { root, workspace } = await temporaryWorkspace();
    using directory = openRoot(root, workspace.traversal);
    for (const mode of ["add", "replace"] as const) {
      const write = { name: "a.txt", temporaryName: TEMPORARY, content: Buffer.from("x"), mode };
      await expect(atomicWrite(directory, write, AbortSignal.abort())).rejects.toThrow(/abort/i);
      expect(await readdir(root)).toEqual([]);
    }
  });

  test("the name cannot be taken", async () => {
    const { root, workspace } = await temporaryWorkspace();
    await mkdir(join(root, "dir/full"), { recursive: true });
    using directory = openRoot(root, workspace.traversal);
    const write = { name: "dir", temporaryName: TEMPORARY, content: Buffer.from("x") };
    const { signal } = new AbortController();
    await expect(atomicWrite(directory, { ...write, mode: "replace" }, signal)).rejects.toThrow(/EISDIR/);
    expect(await atomicWrite(directory, { ...write, mode: "add" }, signal)).toBe(false);
    expect(await readdir(root)).toEqual(["dir"]);
  });
});

test("summaries", async () => {
  const { toolbox } = await temporaryWorkspace();
  const common = { ok: true, args: {} };
  const write = { ...common, tool: "fs.write_text", args: { path: "a", text: "1\n2\n" } };
  expect(toolbox.summarize({ ...write, output: { path: "a", bytes: 4 } })).toBe("wrote 2 line(s) to a");
  expect(toolbox.summarize({ ...common, tool: "fs.write_text", output: null })).toBe("wrote a file");
  expect(toolbox.summarize({ ...common, tool: "fs.read_text", output: { path: "a", bytes: 4 } })).toBe(
    "read a (4 bytes)",
  );
  expect(toolbox.summarize({ ...common, tool: "fs.read_text", output: '{"path":"cut sh' })).toBe("read a file");
  expect(toolbox.summarize({ ...common, tool: "fs.list_dir", output: { path: ".", entries: [1, 2] } })).toBe(
    "listed 2 in .",
  );
  for (const [tool, output, summary] of [
    ["fs.search", { matches: [1, 2] }, "found 2 in the workspace"],
    ["fs.search", '{"matches":[', "searched the workspace"],
    ["fs.edit", { path: "a", replacements: 2 }, "edited a (2 place(s))"],
    ["fs.edit", null, "edited a file"],
    ["fs.delete", { path: "a" }, "deleted a"],
    ["fs.delete", null, "deleted a file"],
    ["fs.stat", { path: "a" }, "looked up a"],
    ["fs.stat", null, "looked up a path"],
  ] as const) {
    expect(toolbox.summarize({ ...common, tool, output })).toBe(summary);
  }
});

test("all file tools together take a small part of a prompt", async () => {
  const { toolbox } = await temporaryWorkspace();
  const offers = toolbox.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  // All built-in tools may take 1,500 tokens, at three bytes each.
  expect(Buffer.byteLength(JSON.stringify(offers)) / 3).toBeLessThan(850);
});
