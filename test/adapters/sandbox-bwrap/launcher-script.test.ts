/** Whether the launcher begins. Outside a sandbox: inside there is no such moment to be had. */
import { spawn } from "node:child_process";
import { closeSync, constants, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  ANSWER_TO_MARK,
  launcherScript,
  MARK_FD,
  STARTED_MARK,
} from "../../../src/adapters/sandbox-bwrap/launcher-script.ts";
import { DEFAULT_LIMITS } from "../../../src/adapters/sandbox-bwrap/sandbox-limits.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "surety-launcher-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The exit code of a launcher whose mark is met like this. */
async function launch(meet: (mark: string, pipe: Duplex) => void): Promise<number | null> {
  const place = openSync(directory, constants.O_RDONLY);
  // Outside, all of a user's processes are counted.
  const script = launcherScript({ ...DEFAULT_LIMITS, processes: 4096 }, [2]);
  const child = spawn("/bin/sh", ["-c", script, "launcher", "/usr/bin/touch", "ran"], {
    cwd: directory,
    stdio: ["ignore", "ignore", "ignore", "pipe", place],
  });
  closeSync(place);
  const pipe = child.stdio[MARK_FD] as Duplex;
  pipe.on("data", (piece: Buffer) => meet(`${piece}`, pipe));
  return await new Promise((resolve) => child.on("close", resolve));
}

test("a mark that is answered: the command runs", async () => {
  const marks: string[] = [];
  const exitCode = await launch((mark, pipe) => {
    marks.push(mark);
    pipe.write(ANSWER_TO_MARK);
  });
  expect([marks, exitCode, existsSync(join(directory, "ran"))]).toEqual([[STARTED_MARK], 0, true]);
});

test("a mark that nobody will answer, as when the gateway dies: nothing runs", async () => {
  const exitCode = await launch((_, pipe) => pipe.destroy());
  expect([exitCode, existsSync(join(directory, "ran"))]).toEqual([1, false]);
});
