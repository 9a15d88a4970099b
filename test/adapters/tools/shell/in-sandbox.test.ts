/** Commands in the real sandbox: what the tables promise holds there, and what a workspace says is not obeyed. */
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createBwrapSandbox } from "../../../../src/adapters/sandbox-bwrap/create-bwrap-sandbox.ts";
import { FALLBACK_USER } from "../../../../src/adapters/sandbox-bwrap/workspace-user.ts";
import { systemClock } from "../../../../src/boot/system-clock.ts";
import { temporaryShell } from "./temporary-shell.ts";

const run = promisify(execFile);

async function containedShell(allow?: readonly string[]) {
  const sandbox = createBwrapSandbox({
    ...{ clock: systemClock, bwrapPath: "/usr/bin/bwrap", architecture: process.arch },
    fallbackUser: process.getuid?.() === 0 ? FALLBACK_USER : null,
  });
  const shell = await temporaryShell({ sandbox, ...(allow === undefined ? {} : { allow }) });
  await chmod(shell.root, 0o755);
  const outputOf = async (cmd: string) => {
    const answer = await shell.run(await shell.plan(cmd));
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.output as { readonly exit_code: number; readonly stdout: string; readonly stderr: string };
  };
  return { ...shell, outputOf };
}

test("commands, pipelines and exit codes", async () => {
  const { root, outputOf } = await containedShell();
  await writeFile(join(root, "a b.txt"), "two\none\ntwo\n");
  expect(await outputOf("cat 'a b.txt'")).toMatchObject({ exit_code: 0, stdout: "two\none\ntwo\n", stderr: "" });
  expect(await outputOf("sort 'a b.txt' | uniq -c | sort -rn | head -1")).toMatchObject({ stdout: "      2 two\n" });
  expect(await outputOf("grep -c three 'a b.txt'")).toMatchObject({ exit_code: 1, stdout: "0\n" });
  expect(await outputOf("cat missing")).toMatchObject({ exit_code: 1, stderr: expect.stringContaining("missing") });
  expect(await outputOf("sed -n 2p 'a b.txt'")).toMatchObject({ stdout: "one\n" });
  expect(await outputOf("echo '$HOME' '*' ';'")).toMatchObject({ stdout: "$HOME * ;\n" });
  expect(await outputOf("pwd")).toMatchObject({ stdout: `${root}\n` });
});

test("git reads the repository, and starts nothing that the repository names", async () => {
  const { root, plan, outputOf } = await containedShell();
  const git = (...args: string[]) => run("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
  await git("init", "-q");
  await writeFile(join(root, "a.txt"), "one\n");
  await git("add", ".");
  await git("commit", "-qm", "first");
  await writeFile(join(root, "a.txt"), "two\n");
  expect(await plan("git status")).toMatchObject({ risk: "read_only" });
  expect(await outputOf("git status --short")).toMatchObject({ exit_code: 0, stdout: " M a.txt\n", stderr: "" });
  expect((await outputOf("git log --oneline -1")).stdout).toMatch(/ first\n$/);
  expect((await outputOf("git diff")).stdout).toContain("-one\n+two");
  expect((await outputOf("git show HEAD:a.txt")).stdout).toBe("one\n");
  expect((await outputOf("git blame --porcelain a.txt")).exit_code).toBe(0);
  expect((await outputOf("git grep -n two")).stdout).toBe("a.txt:1:two\n");
  const trap = join(root, "trap.sh");
  await writeFile(trap, "#!/bin/sh\necho sprung >&2\n");
  await chmod(trap, 0o755);
  await writeFile(join(root, ".gitattributes"), "*.txt diff=t\n");
  for (const [key, value] of [
    ["core.fsmonitor", trap],
    ["diff.external", trap],
    ["diff.t.textconv", trap],
    ["diff.t.command", trap],
    ["core.pager", trap],
    ["log.showSignature", "true"],
  ] as const) {
    await git("config", key, value);
  }
  expect((await git("diff")).stderr).toContain("sprung");
  expect(await plan("git diff")).toMatchObject({ risk: "side_effect" });
  for (const cmd of ["git status", "git diff", "git log -p", "git show", "git blame a.txt"]) {
    const { stdout, stderr, exit_code: exitCode } = await outputOf(cmd);
    expect([exitCode, `${stdout}${stderr}`.includes("sprung")], cmd).toEqual([0, false]);
  }
});

test("a command that was asked for may write, and reads the script that was approved", async () => {
  const { root, plan, run } = await containedShell(["sh"]);
  await writeFile(join(root, "x.sh"), "echo approved > made.txt\n");
  expect(await run(await plan("sh x.sh"))).toMatchObject({ ok: true, output: { exit_code: 0 } });
  expect(await readFile(join(root, "made.txt"), "utf8")).toBe("approved\n");
});

test("a script that is swapped after it was read is not the one that runs", async () => {
  const { root, plan, run } = await containedShell(["sh"]);
  await writeFile(join(root, "x.sh"), "echo approved\n");
  const planned = await plan("sh x.sh");
  await writeFile(join(root, "x.sh"), "echo evil\n");
  expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
});

test("time is up", async () => {
  const { plan, run } = await containedShell(["sleep"]);
  const planned = await plan({ cmd: "sleep 60", timeout_s: 1 });
  expect(await run(planned)).toMatchObject({ ok: false, error: { code: "timeout", retryable: false } });
});

test("a workspace that was replaced is not entered", async () => {
  const { root, plan, run, base } = await containedShell();
  const planned = await plan("ls");
  await promisify(execFile)("mv", [root, join(base, "moved")]);
  await mkdir(root);
  expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
  expect((await stat(root)).isDirectory()).toBe(true);
});
