import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  link,
  mkdir,
  readdir,
  readFile,
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
import { hashBytes, hashCanonical } from "../../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../../requirements.ts";
import { CANARY, temporaryWorkspace } from "./temporary-workspace.ts";

const KEY = hashCanonical("the key of the call");
const TEMPORARY = `.surety-${KEY.slice(0, 32)}.tmp`;

test("parameters, defaults and promise", async () => {
  const { plan, root } = await temporaryWorkspace();
  await writeFile(join(root, "a.txt"), "old");
  expect(await plan("fs.edit", { path: "a.txt", old_text: "old", new_text: "new" })).toMatchObject({
    args: { path: "a.txt", old_text: "old", new_text: "new", replace_all: false },
    risk: "side_effect",
    idempotency: "keyed",
    plan: { scriptHashes: [hashBytes("old"), hashBytes("new")], targets: [join(root, "a.txt")] },
  });
});

test.each([
  ["fs.edit", { path: "d/a.sh", old_text: "b", new_text: "ö" }],
  ["file_edit", { file_path: "d/a.sh", old_string: "b", new_string: "ö" }],
  ["str_replace", { path: "d/a.sh", old_str: "b", new_str: "ö" }],
])("%s edits; the file keeps its permissions, and nothing is left beside it", async (tool, args) => {
  const { call, root } = await temporaryWorkspace();
  await mkdir(join(root, "d"));
  await writeFile(join(root, "d/a.sh"), "a\nb\nc");
  // Only root can keep the owner of another user's file.
  const uid = process.getuid?.() === 0 ? 65_534 : (await stat(root)).uid;
  await chown(join(root, "d/a.sh"), uid, (await stat(root)).gid);
  await chmod(join(root, "d/a.sh"), 0o4754);
  expect(await call(tool, args)).toEqual({ ok: true, output: { path: "d/a.sh", replacements: 1, bytes: 6 } });
  expect(await readFile(join(root, "d/a.sh"), "utf8")).toBe("a\nö\nc");
  const { mode, uid: owner } = await stat(join(root, "d/a.sh"));
  expect([mode & 0o7777, owner]).toEqual([0o754, uid]);
  expect(await readdir(root, { recursive: true })).toEqual(["d", "d/a.sh"]);
});

describe("what leaves a doubt is refused, and nothing is changed", () => {
  test.each([
    ["no such text", { old_text: "zzz" }, "invalid.request", /not found/],
    ["many of them", { old_text: "a" }, "invalid.request", /replace_all/],
    ["nothing to change", { old_text: "b", new_text: "b" }, "invalid.request", /same/],
    ["a hole", { new_text: "x [REDACTED:api_key]" }, "tool.input_invalid", /REDACTED/],
    ["half a hole", { old_text: "[REDACTED:" }, "tool.input_invalid", /secret/],
    ["a handle", { old_text: "⟦secret:KEY⟧" }, "tool.input_invalid", /secret/],
    ["a handle to be written", { new_text: "⟦secret:KEY⟧" }, "tool.input_invalid", /secret/],
    ["a cut text", { new_text: "x\n[… truncated]" }, "tool.input_invalid", /truncated/],
    ["NUL", { new_text: "\0" }, "tool.input_invalid", /NUL/],
    ["nothing", { old_text: "" }, "tool.input_invalid", /old_text/],
    ["no such file", { path: "none.txt" }, "invalid.request", /does not exist/],
    ["a directory", { path: "d" }, "invalid.request", /directory/],
    ["a directory, by its slash", { path: "a.txt/" }, "tool.input_invalid", /directory/],
  ])("%s", async (_what, change, code, message) => {
    const { toolbox, root, annex } = await temporaryWorkspace();
    await mkdir(join(root, "d"));
    await writeFile(join(root, "a.txt"), "a a b");
    const answer = await toolbox.plan("fs.edit", { path: "a.txt", old_text: "b", new_text: "c", ...change });
    expect(answer).toMatchObject({ ok: false, error: { code, message: expect.stringMatching(message) } });
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("a a b");
    await expect(readdir(annex)).rejects.toThrow("ENOENT");
  });

  test.each([
    ["no UTF-8", Buffer.from([0x62, 0xff])],
    ["NUL", Buffer.from("b\0")],
  ])("%s", async (_what, bytes) => {
    const { call, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.bin"), bytes);
    expect(await call("fs.edit", { path: "a.bin", old_text: "b", new_text: "c" })).toMatchObject({
      error: { code: "invalid.request", message: expect.stringContaining("UTF-8") },
    });
    expect(await readFile(join(root, "a.bin"))).toEqual(bytes);
  });

  test("a huge file, before much of it is read", async () => {
    const { call, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "b");
    await truncate(join(root, "a.txt"), 8 * 2 ** 30);
    expect(await call("fs.edit", { path: "a.txt", old_text: "b", new_text: "c" })).toMatchObject({
      error: { code: "invalid.request", message: expect.stringContaining("too large") },
    });
  });

  verifies("S-4.2", "a second name, a link and a pipe", async () => {
    const { call, root, outside, expectUntouched } = await temporaryWorkspace();
    await link(join(outside, "canary.txt"), join(root, "hard.txt"));
    await symlink(join(outside, "canary.txt"), join(root, "soft.txt"));
    await promisify(execFile)("mkfifo", [join(root, "pipe")]);
    for (const path of ["hard.txt", "soft.txt", "pipe"]) {
      const answer = await call("fs.edit", { path, old_text: "canary", new_text: "x" });
      expect(answer).toMatchObject({ ok: false, error: { code: "policy.denied" } });
      expect(JSON.stringify(answer)).not.toContain(CANARY);
    }
    await expectUntouched();
  });
});

describe("an approver is shown", () => {
  test("the path and every line that changes, whole, which cannot pass for more", async () => {
    const { plan, root } = await temporaryWorkspace();
    const long = "x".repeat(100_000);
    await writeFile(join(root, "a.txt"), `keep\n${long}\nkeep\n`);
    const args = { path: "a.txt", old_text: long, new_text: `y\n  path:    "/safe"\u202e${long}` };
    const { shown } = await plan("fs.edit", args);
    expect(shown.split("\n")).toEqual([
      "Edit a file",
      `  path:    ${JSON.stringify(join(root, "a.txt"))}`,
      "  places:  1",
      "  warning: 1 control or invisible characters in the added text",
      "  every removed (-) and added (+) line, each behind a bar:",
      "| @@ -2,1 +2,2 @@",
      `| -${long}`,
      "| +y",
      `| +  path:    "/safe"\u202e${long}`,
    ]);
  });

  test("CRLF without a warning; what is too much to show is refused", async () => {
    const { plan, toolbox, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "a\r\n");
    expect((await plan("fs.edit", { path: "a.txt", old_text: "a", new_text: "b" })).shown).not.toContain("warning");
    await writeFile(join(root, "b.txt"), `${"x".repeat(2 ** 20)}b`);
    expect(await toolbox.plan("fs.edit", { path: "b.txt", old_text: "b", new_text: "c" })).toMatchObject({
      error: { code: "invalid.request", message: expect.stringContaining("too long to show") },
    });
  });
});

const swaps: readonly (readonly [string, (root: string, outside: string) => Promise<void>])[] = [
  [
    "another directory",
    async (root) => {
      await rename(join(root, "d"), join(root, "was"));
      await mkdir(join(root, "d"));
      await writeFile(join(root, "d/a.txt"), "old!");
    },
  ],
  ["another content that the edit would fit as well", (root) => writeFile(join(root, "d/a.txt"), "old?")],
  [
    "a link for the directory",
    async (root, outside) => {
      await rename(join(root, "d"), join(root, "was"));
      await writeFile(join(outside, "a.txt"), "old!");
      await symlink(outside, join(root, "d"));
    },
  ],
  [
    "a link for the file",
    async (root) => {
      await rename(join(root, "d/a.txt"), join(root, "d/b.txt"));
      await symlink("b.txt", join(root, "d/a.txt"));
    },
  ],
  [
    "a second name for the file",
    async (root) => {
      await link(join(root, "d/a.txt"), join(root, "d/b.txt"));
    },
  ],
  ["no file any more", (root) => rm(join(root, "d/a.txt"))],
];
describe("a plan is for what was there when it was made", () => {
  for (const [what, swap] of swaps) {
    verifies("S-4.2", `after a swap the old one changes nothing: ${what}`, async () => {
      const { toolbox, plan, run, root, outside } = await temporaryWorkspace();
      await mkdir(join(root, "d"));
      await writeFile(join(root, "d/a.txt"), "old!");
      const args = { path: "d/a.txt", old_text: "old", new_text: "new" };
      const approved = await plan("fs.edit", args);
      expect((await plan("fs.edit", args)).plan).toEqual(approved.plan);
      await swap(root, outside);
      const again = await toolbox.plan("fs.edit", args);
      expect(again.ok ? again.plan : null).not.toEqual(approved.plan);
      const answer = await run(approved);
      expect(answer).toMatchObject({ ok: false });
      if (!answer.ok) expect(["policy.denied", "invalid.request"]).toContain(answer.error.code);
      const left = [root, outside].map((at) => readdir(at, { recursive: true, withFileTypes: true }));
      for (const entry of (await Promise.all(left)).flat().filter((each) => each.isFile())) {
        expect(await readFile(join(entry.parentPath, entry.name), "utf8")).not.toContain("new");
      }
    });
  }
});

describe("repeated after a crash", () => {
  const args = { path: "a.txt", old_text: "a", new_text: "aa", replace_all: true };
  const repeat = { isRepeat: true, idempotencyKey: KEY };

  test("done before, it is a success and not done twice, though it could be", async () => {
    const { call, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "a.a");
    const output = { path: "a.txt", replacements: 2, bytes: 5 };
    expect(await call("fs.edit", args, { idempotencyKey: KEY })).toEqual({ ok: true, output });
    for (const mayAct of [true, false]) {
      expect(await call("fs.edit", args, { ...repeat, mayAct })).toEqual({ ok: true, output });
      expect(await readFile(join(root, "a.txt"), "utf8")).toBe("aa.aa");
    }
  });

  test("done before, and impossible now, it is a success all the same, and needs no approval", async () => {
    const { call, plan, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "x\nb\n");
    const gone = { path: "a.txt", old_text: "x\n", new_text: "" };
    const { ok } = await call("fs.edit", gone, { idempotencyKey: KEY });
    expect(ok).toBe(true);
    expect(await plan("fs.edit", gone)).toMatchObject({ risk: "read_only", plan: { scriptHashes: [] } });
    expect(await call("fs.edit", gone, { ...repeat, mayAct: false })).toMatchObject({ ok: true });
    // The same again, as a call of its own: there is nothing to replace.
    expect(await call("fs.edit", gone)).toMatchObject({ error: { code: "invalid.request" } });
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("b\n");
  });

  test("begun and not done, it is done, and clears up", async () => {
    const { call, plan, run, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "a.a");
    const planned = await plan("fs.edit", args);
    // The receipt of an attempt that went no further.
    await run(planned, { idempotencyKey: KEY });
    await writeFile(join(root, "a.txt"), "a.a");
    await writeFile(join(root, TEMPORARY), "aa");
    expect(await call("fs.edit", args, repeat)).toMatchObject({ ok: true, output: { replacements: 2 } });
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("aa.aa");
    expect(await readdir(root)).toEqual(["a.txt"]);
  });

  test("where the world has changed since, it does nothing, and says that it does not know", async () => {
    const { call, root } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "a.a");
    await call("fs.edit", args, { idempotencyKey: KEY });
    await writeFile(join(root, "a.txt"), "a, theirs");
    expect(await call("fs.edit", args, { ...repeat, mayAct: false })).toMatchObject({
      error: { code: "policy.denied", message: expect.stringContaining("the interrupted one may have") },
    });
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("a, theirs");
  });

  test("another call's receipt is not its own, and a broken one is none", async () => {
    const { call, root, annex } = await temporaryWorkspace();
    await writeFile(join(root, "a.txt"), "a.a");
    await call("fs.edit", args, { idempotencyKey: hashCanonical("another") });
    expect(await call("fs.edit", args, { ...repeat, mayAct: false })).toMatchObject({ ok: false });
    const [receipt] = await readdir(join(annex, "edits"));
    await call("fs.edit", args, { idempotencyKey: KEY });
    for (const broken of ["{", "[]", '{"key":1}']) {
      await writeFile(join(annex, "edits", `${receipt}`), broken);
      expect(await call("fs.edit", args, { ...repeat, mayAct: false })).toMatchObject({ ok: false });
    }
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("aaaa.aaaa");
  });
});

test("stopped before it acts, it leaves everything as it was", async () => {
  const { plan, run, root } = await temporaryWorkspace();
  await writeFile(join(root, "a.txt"), "old");
  const planned = await plan("fs.edit", { path: "a.txt", old_text: "old", new_text: "new" });
  expect(await run(planned, { signal: AbortSignal.abort() })).toMatchObject({ error: { code: "timeout" } });
  expect(await readFile(join(root, "a.txt"), "utf8")).toBe("old");
  expect(await readdir(root)).toEqual(["a.txt"]);
});

test("a tool state directory in the workspace, or the other way round, is refused", async () => {
  const { root, workspace, annex } = await temporaryWorkspace();
  const { findToolStateDirectory, openToolStateDirectory } = await import(
    "../../../../src/adapters/tools/fs/tool-state-directory.ts"
  );
  for (const path of [root, join(root, "annex"), join(root, "..")]) {
    await expect(openToolStateDirectory(workspace, path)).rejects.toThrow("contain one another");
  }
  expect(await readdir(root)).toEqual([]);
  await mkdir(join(root, "in"));
  await symlink(join(root, "in"), annex);
  await expect(findToolStateDirectory(workspace, annex)).rejects.toThrow("contain one another");
  await expect(openToolStateDirectory(workspace, annex)).rejects.toThrow("contain one another");
});

test("for any file and any edit, bytes outside the replaced ranges are unchanged", async () => {
  const { call, root } = await temporaryWorkspace();
  const unit = fc.constantFrom("a", "b", "\n", "\ufeff", "é", "👍");
  const pieces = fc.array(unit, { maxLength: 12 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(
      fc.array(pieces, { minLength: 2, maxLength: 4 }),
      unit,
      pieces,
      async (around, wanted, newText) => {
        const parts = around.map((part) => part.replaceAll(wanted, ""));
        await writeFile(join(root, "f"), parts.join(wanted));
        const answer = await call("fs.edit", { path: "f", old_text: wanted, new_text: newText, replace_all: true });
        expect(answer.ok).toBe(wanted !== newText);
        expect(await readFile(join(root, "f"))).toEqual(Buffer.from(parts.join(answer.ok ? newText : wanted)));
      },
    ),
    { numRuns: 150 },
  );
});
