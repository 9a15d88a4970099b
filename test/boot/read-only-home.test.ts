/** A home on a file system that is mounted read-only, as from a backup: who only looks can do so, root or not. */
import { spawnSync } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));

/** The command, for which nothing in the home can be written. */
function suretyReadOnly(home: string, ...words: readonly string[]) {
  const mounts = ["--dev-bind", "/", "/", "--ro-bind", home, home];
  const command = [process.execPath, ENTRY, "--home", home, ...words];
  const { status, stdout, stderr } = spawnSync("/usr/bin/bwrap", [...mounts, "--", ...command], { encoding: "utf8" });
  return { code: status, stdout, stderr };
}

async function homeWithRun(name: string) {
  const directory = await temporaryDirectory();
  const home = join(directory, name);
  await mkdir(home);
  const streams = capturedStreams();
  await main(["--home", home, "run", "list files", "--json"], streams, () => undefined);
  return { directory, home, id: JSON.parse(streams.written().stdout).id as string };
}

// Names that mean something in a URL are names all the same.
test.each(["home", "a #home? 100%"])(
  "%j is verified, listed, shown and backed up, and stays as it is",
  async (name) => {
    const { directory, home, id } = await homeWithRun(name);
    const before = await readdir(home);
    expect(suretyReadOnly(home, "verify")).toMatchObject({ code: 0, stderr: "" });
    expect(suretyReadOnly(home, "runs", "ls").stdout).toContain(id);
    expect(suretyReadOnly(home, "runs", "show", id)).toMatchObject({ code: 0, stderr: "" });
    expect(suretyReadOnly(home, "backup", join(directory, "copy.db"))).toMatchObject({ code: 0 });
    expect(await readdir(home)).toEqual(before);
  },
);

test("commands that act fail and say that nothing can be written", async () => {
  const { home } = await homeWithRun("home");
  const { code, stderr } = suretyReadOnly(home, "run", "list files");
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^error home\.unusable: .*: the file system is read-only\n/),
  ]);
});
