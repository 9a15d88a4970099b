import { execFile } from "node:child_process";
import { link, mkdir, rename, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { globMatcher } from "../../../../src/adapters/tools/fs/path-glob.ts";
import { verifies } from "../../../requirements.ts";
import { CANARY, temporaryWorkspace } from "./temporary-workspace.ts";

interface Found {
  readonly matches: readonly { readonly path: string; readonly line?: number; readonly text?: string }[];
  readonly files: number;
  readonly skipped: number;
  readonly truncated: boolean;
}

async function workspaceWith(files: Readonly<Record<string, string | Buffer>>) {
  const made = await temporaryWorkspace();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(made.root, path)), { recursive: true });
    await writeFile(join(made.root, path), content);
  }
  async function search(args: Readonly<Record<string, string | number | boolean>>): Promise<Found> {
    const answer = await made.call("fs.search", { pattern: "", ...args });
    if (!answer.ok) throw new Error(`${answer.error.code}: ${answer.error.message}`);
    return answer.output as Found;
  }
  const paths = async (args: Readonly<Record<string, string | number | boolean>>) =>
    (await search(args)).matches.map(({ path }) => path);
  return { ...made, search, paths };
}

test("parameters and defaults", async () => {
  const { plan, root } = await temporaryWorkspace();
  expect(await plan("file_search", { query: "x", directory: "d" })).toMatchObject({
    tool: "fs.search",
    args: { pattern: "x", path: "d", glob: "", regex: false, ignore_case: false, max_results: 50 },
    risk: "read_only",
    idempotency: "read_only",
    plan: { targets: [join(root, "d")] },
  });
});

describe("what is found", () => {
  test("lines, by number, in the order of names, without their ends", async () => {
    const { search } = await workspaceWith({ "b.txt": "x\r\nfoo(\r\n", "a/z.txt": "foo( foo(\n\nfoo(", "c.txt": "no" });
    expect(await search({ pattern: "foo(" })).toEqual({
      matches: [
        { path: "a/z.txt", line: 1, text: "foo( foo(" },
        { path: "a/z.txt", line: 3, text: "foo(" },
        { path: "b.txt", line: 2, text: "foo(" },
      ],
      files: 3,
      skipped: 0,
      truncated: false,
    });
  });

  test.each([
    ["a literal", { pattern: "a.c" }, [2]],
    ["a literal, in any case", { pattern: "A.C", ignore_case: true }, [2]],
    ["an expression", { pattern: "^a.c$", regex: true }, [1, 2]],
    ["an expression, in any case", { pattern: "ÄX+", regex: true, ignore_case: true }, [4]],
    ["an expression that escapes too much", { pattern: "\\-\\_", regex: true }, [5]],
    ["code points, not halves", { pattern: "^.$", regex: true }, [3]],
    ["nothing", { pattern: "zzz" }, []],
  ])("%s", async (_what, args, lines) => {
    const { search } = await workspaceWith({ "a.txt": "abc\na.c\n👍\näxx\n-_\n" });
    expect((await search(args)).matches.map(({ line }) => line)).toEqual(lines);
  });

  test("names alone, by glob", async () => {
    const { search, paths } = await workspaceWith({
      "a.ts": "",
      "d/b.ts": "",
      "d/e/c.tsx": "",
      "d/c.md": "",
      "#x!": "",
    });
    expect(await search({ glob: "*.ts" })).toMatchObject({ matches: [{ path: "a.ts" }, { path: "d/b.ts" }] });
    expect(await paths({ glob: "/*.ts" })).toEqual(["a.ts"]);
    expect(await paths({ glob: "./*.ts" })).toEqual(["a.ts"]);
    expect(await paths({ glob: "**/*.{ts,tsx}" })).toEqual(["a.ts", "d/b.ts", "d/e/c.tsx"]);
    expect(await paths({ glob: "d/**" })).toEqual(["d/b.ts", "d/c.md", "d/e/c.tsx"]);
    expect(await paths({ path: "d", glob: "e/*" })).toEqual(["d/e/c.tsx"]);
    expect(await paths({ glob: "#x!" })).toEqual(["#x!"]);
    expect(await paths({ glob: "!a.ts" })).toEqual([]);
  });

  test("beneath a path, or in one file", async () => {
    const { paths } = await workspaceWith({ "a.txt": "x", "d/b.txt": "x", "d/e/c.txt": "x" });
    expect(await paths({ pattern: "x", path: "d" })).toEqual(["d/b.txt", "d/e/c.txt"]);
    expect(await paths({ pattern: "x", path: "d/b.txt" })).toEqual(["d/b.txt"]);
  });

  test("as many as asked for, and whether there are more", async () => {
    const { search } = await workspaceWith({ "a.txt": "x\n".repeat(3), "b.txt": "x\n".repeat(600) });
    for (const [asked, found, truncated] of [
      [2, 2, true],
      [602, 500, true],
      [1e9, 500, true],
    ] as const) {
      const { matches, truncated: isTruncated } = await search({ pattern: "x", max_results: asked });
      expect([matches.length, isTruncated]).toEqual([found, truncated]);
    }
    expect(await search({ pattern: "x", glob: "a.txt", max_results: 3 })).toMatchObject({ truncated: false });
  });

  test("of a long line, what is around the match, cut between characters", async () => {
    const { search } = await workspaceWith({ "a.txt": `${"👍".repeat(5_000)}needle${"👍".repeat(5_000)}` });
    const { matches } = await search({ pattern: "needle" });
    const text = matches[0]?.text ?? "";
    expect(text).toMatch(/^…(?:👍)+needle(?:👍)+…$/u);
    expect(text.length).toBeLessThan(260);
  });
});

describe("what is passed over", () => {
  test("by .gitignore, nested and negated, as git does", async () => {
    const { paths, root } = await workspaceWith({
      ".gitignore": "*.log\n/build\nnode_modules/\n!keep.log\n",
      "a.log": "needle",
      "keep.log": "needle",
      "build/a.txt": "needle",
      "d/build/a.txt": "needle",
      "d/.gitignore": "!a.log\n/secret.txt\n",
      "d/a.log": "needle",
      "d/b.log": "needle",
      "d/secret.txt": "needle",
      "d/e/secret.txt": "needle",
      "d/node_modules/m.js": "needle",
      ".git/config": "needle",
      "d/.git": "needle",
      ".hidden/a.txt": "needle",
    });
    const git = promisify(execFile);
    const env = { PATH: "/usr/bin:/bin", GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
    const found = await paths({ pattern: "needle" });
    expect(found).toEqual([".hidden/a.txt", "d/a.log", "d/build/a.txt", "d/e/secret.txt", "keep.log"]);
    // Git itself is asked where it is there, in a repository made around the same files.
    await rename(join(root, ".git"), join(root, "..", "dot-git"));
    await rename(join(root, "d/.git"), join(root, "..", "dot-git-file"));
    await git("git", ["init", "-q"], { cwd: root, env });
    const { stdout } = await git("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, env });
    const theirs = stdout.split("\n").filter((name) => name !== "" && !name.endsWith(".gitignore"));
    expect(found).toEqual(theirs.toSorted());
  });

  test("but what is named is searched, and rules from further up hold further down", async () => {
    const { paths } = await workspaceWith({
      ".gitignore": "out/\n*.log\n",
      "out/a.txt": "x",
      "out/a.log": "x",
      "d/e/a.log": "x",
      "d/e/a.txt": "x",
    });
    expect(await paths({ pattern: "x", path: "out" })).toEqual(["out/a.log", "out/a.txt"]);
    expect(await paths({ pattern: "x", path: "d/e" })).toEqual(["d/e/a.txt"]);
    expect(await paths({ pattern: "x", path: "d/e/a.log" })).toEqual(["d/e/a.log"]);
  });

  test("rules that are none", async () => {
    const { paths } = await workspaceWith({ ".gitignore": "[z-a]\n[\n\\\n***\\/(\n\0\n", "a.txt": "x" });
    expect(await paths({ pattern: "x" })).toEqual(expect.any(Array));
  });

  test("what is no text, silently; what is too large, counted", async () => {
    const { search, root } = await workspaceWith({
      "a.bin": Buffer.from("needle\0"),
      "b.txt": Buffer.from([0xff, 0x78]),
      "huge.txt": "x",
    });
    await truncate(join(root, "huge.txt"), 16 * 2 ** 30);
    expect(await search({ pattern: "needle" })).toMatchObject({ matches: [], skipped: 1 });
    expect(await search({ pattern: "x" })).toMatchObject({ matches: [{ path: "b.txt", text: "\ufffdx" }], skipped: 1 });
  });

  verifies("S-4.2", "links, pipes and files with a second name", async () => {
    const { search, root, outside } = await workspaceWith({ "a.txt": CANARY });
    await symlink(outside, join(root, "link"));
    await symlink(join(outside, "canary.txt"), join(root, "soft.txt"));
    await symlink("/", join(root, "everything"));
    await link(join(outside, "canary.txt"), join(root, "hard.txt"));
    await symlink(join(outside, "canary.txt"), join(root, ".gitignore"));
    await promisify(execFile)("mkfifo", [join(root, "pipe")]);
    const { matches, skipped } = await search({ pattern: CANARY });
    expect(matches.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(skipped).toBe(1);
  });

  test("what lies too deep, but not in silence", async () => {
    const { search } = await workspaceWith({ [`${"d/".repeat(60)}a.txt`]: "x", [`${"e/".repeat(40)}a.txt`]: "x" });
    const { matches, truncated } = await search({ pattern: "x" });
    expect([matches.length, truncated]).toEqual([1, true]);
  });
});

test.each([
  ["a bad expression", { pattern: "(", regex: true }, "tool.input_invalid"],
  ["a line end", { pattern: "a\nb" }, "tool.input_invalid"],
  ["a pattern without end", { pattern: "a".repeat(1_001) }, "tool.input_invalid"],
  ["no such place", { pattern: "a", path: "none" }, "invalid.request"],
  ["a link", { pattern: "a", path: "link" }, "policy.denied"],
  ["a link to a file", { pattern: "a", path: "soft" }, "policy.denied"],
  ["a pipe", { pattern: "a", path: "pipe" }, "invalid.request"],
  ["the outside", { pattern: "a", path: "../outside" }, "policy.denied"],
])("%s: refused", async (_what, args, code) => {
  const { call, root, outside } = await temporaryWorkspace();
  await symlink(outside, join(root, "link"));
  await symlink(join(outside, "canary.txt"), join(root, "soft"));
  await promisify(execFile)("mkfifo", [join(root, "pipe")]);
  expect(await call("fs.search", args)).toMatchObject({ ok: false, error: { code } });
});

describe("a search that would take forever", () => {
  const evil = `${"a".repeat(64)}!`;

  test("an expression is stopped in the middle of a match, and others do not wait for it", async () => {
    const { call } = await workspaceWith({ "a.txt": evil });
    const controller = new AbortController();
    const search = call("fs.search", { pattern: "^(a+)+$", regex: true }, { signal: controller.signal });
    // Many lock of the loop, and calls of other tools, go by meanwhile.
    for (let turn = 0; turn < 50; turn += 1) expect(await call("fs.list_dir", {})).toMatchObject({ ok: true });
    controller.abort();
    expect(await search).toMatchObject({ ok: false, error: { code: "timeout", retryable: true } });
  });

  test("so is a rule of .gitignore", async () => {
    const { call } = await workspaceWith({ ".gitignore": `${"*a".repeat(40)}*b\n`, [`${"a".repeat(200)}c`]: "x" });
    const answer = await call("fs.search", { pattern: "x" }, { signal: AbortSignal.timeout(2_000) });
    expect(answer.ok || answer.error.code === "timeout").toBe(true);
  });
});

test("a glob never throws, whatever it is", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("*", "?", "[", "]", "{", "}", ",", "!", "/", "\\", "a", "-", "(") }),
      (glob) => {
        expect(typeof globMatcher(glob)("a/b.ts")).toBe("boolean");
      },
    ),
    { numRuns: 500 },
  );
});
