import { execFile } from "node:child_process";
import { chmod, link, mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryWorkspace } from "./temporary-workspace.ts";

test("types, sizes, times and permissions, of links as links, of pipes without opening them", async () => {
  const { call, root, outside } = await temporaryWorkspace();
  await mkdir(join(root, "d"), { mode: 0o700 });
  await writeFile(join(root, "d/a.txt"), "hé");
  await chmod(join(root, "d/a.txt"), 0o640);
  await utimes(join(root, "d/a.txt"), 0, 1_700_000_000.5);
  await symlink(join(outside, "canary.txt"), join(root, "link"));
  await symlink("/nowhere", join(root, "dangling"));
  await promisify(execFile)("mkfifo", [join(root, "pipe")]);
  expect(await call("fs.stat", { path: "d/a.txt" })).toEqual({
    ok: true,
    output: { path: "d/a.txt", type: "file", bytes: 3, modified: "2023-11-14T22:13:20.500Z", mode: "640" },
  });
  for (const [path, type] of [
    ["d/", "directory"],
    [".", "directory"],
    ["link", "symlink"],
    ["dangling", "symlink"],
    ["pipe", "other"],
  ] as const) {
    const answer = await call("file_info", { file_path: path });
    expect(answer).toMatchObject({ ok: true, output: { type, bytes: null } });
    expect(JSON.stringify(answer)).not.toMatch(/canary|nowhere/);
  }
});

test.each([
  ["missing", "invalid.request"],
  ["missing/too", "invalid.request"],
  ["a.txt/x", "invalid.request"],
  ["link/canary.txt", "policy.denied"],
  ["..", "policy.denied"],
])("%s: %s", async (path, code) => {
  const { call, root, outside } = await temporaryWorkspace();
  await writeFile(join(root, "a.txt"), "");
  await link(join(root, "a.txt"), join(root, "b.txt"));
  await symlink(outside, join(root, "link"));
  expect(await call("fs.stat", { path })).toMatchObject({ ok: false, error: { code } });
  expect(await call("fs.stat", { path: "b.txt" })).toMatchObject({ ok: true });
});
