import { execFile } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryWorkspace } from "./temporary-workspace.ts";

test("parameters and defaults are the seed's", async () => {
  const { plan, root } = await temporaryWorkspace();
  expect(await plan("fs.list_dir", {})).toMatchObject({
    args: { path: ".", max_entries: 200 },
    risk: "read_only",
    plan: { targets: [root] },
  });
});

test.each([
  ["fs.list_dir", { path: "d" }],
  ["fs.list", { directory: "d" }],
  ["file_list", { path: "d/", recursive: false }],
])("%s lists by name, with links as links", async (tool, args) => {
  const { call, root, outside } = await temporaryWorkspace();
  await mkdir(join(root, "d/sub"), { recursive: true });
  await writeFile(join(root, "d/b.txt"), "hé");
  await writeFile(join(root, "d/B.txt"), "");
  await symlink(join(outside, "canary.txt"), join(root, "d/link"));
  await symlink("/nowhere", join(root, "d/dangling"));
  await promisify(execFile)("mkfifo", [join(root, "d/pipe")]);
  expect(await call(tool, args)).toEqual({
    ok: true,
    output: {
      path: "d",
      entries: [
        { name: "B.txt", type: "file", bytes: 0 },
        { name: "b.txt", type: "file", bytes: 3 },
        { name: "dangling", type: "symlink", bytes: null },
        { name: "link", type: "symlink", bytes: null },
        { name: "pipe", type: "other", bytes: null },
        { name: "sub", type: "directory", bytes: null },
      ],
      truncated: false,
    },
  });
});

test("Talon's file_list of the home directory, or of everything below, is refused with a reason", async () => {
  const { call } = await temporaryWorkspace();
  expect(await call("file_list", { path: "~/Desktop", recursive: false })).toMatchObject({
    error: { code: "policy.denied" },
  });
  expect(await call("file_list", { path: ".", recursive: true })).toMatchObject({
    error: { code: "tool.input_invalid", message: expect.stringContaining("recursive") },
  });
});

test("of many entries it lists the first by name, and says that there are more", async () => {
  const { call, root } = await temporaryWorkspace();
  const names = Array.from({ length: 2_100 }, (_, index) => `f${`${(index * 997) % 2_100}`.padStart(5, "0")}`);
  for (const name of names) await writeFile(join(root, name), "");
  const sorted = names.toSorted();
  for (const [maxEntries, listed] of [
    [1, 1],
    [7, 7],
    [1e9, 2_000],
  ] as const) {
    const answer = await call("fs.list_dir", { max_entries: maxEntries });
    if (!answer.ok) throw new Error(answer.error.message);
    const { entries, truncated } = answer.output as { entries: { name: string }[]; truncated: boolean };
    expect(entries.map(({ name }) => name)).toEqual(sorted.slice(0, listed));
    expect(truncated).toBe(true);
  }
});

test("exactly as many as asked for is not truncated", async () => {
  const { call, root } = await temporaryWorkspace();
  for (const name of ["a", "b", "c"]) await writeFile(join(root, name), "");
  expect(await call("fs.list_dir", { max_entries: 3 })).toMatchObject({ output: { truncated: false } });
  expect(await call("fs.list_dir", { max_entries: 2 })).toMatchObject({ output: { truncated: true } });
});

test("a name that is no text is listed all the same", async () => {
  const { call, root } = await temporaryWorkspace();
  await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x61, 0xff])]), "x");
  expect(await call("fs.list_dir", {})).toMatchObject({
    output: { entries: [{ name: "a\ufffd", type: "file", bytes: null }] },
  });
});

test.each([
  ["missing", "invalid.request"],
  ["f.txt", "invalid.request"],
  ["link", "policy.denied"],
  ["link/..", "ok"],
  ["../outside", "policy.denied"],
])("%s: %s", async (path, code) => {
  const { call, root, outside } = await temporaryWorkspace();
  await writeFile(join(root, "f.txt"), "x");
  await symlink(outside, join(root, "link"));
  const answer = await call("fs.list_dir", { path });
  expect(answer.ok ? "ok" : answer.error.code).toBe(code);
  expect(JSON.stringify(answer)).not.toContain("canary");
});

test("a workspace that is gone is an answer, not a defect", async () => {
  const { call, root } = await temporaryWorkspace();
  await rm(root, { recursive: true });
  expect(await call("fs.list_dir", {})).toMatchObject({ ok: false, error: { code: "invalid.request" } });
});
