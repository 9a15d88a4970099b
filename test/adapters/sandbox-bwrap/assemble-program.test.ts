/** Assembled programs: run where this machine can run them, and compared with an assembler's output where not. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { assembleProgram, type SystemCall } from "../../../src/adapters/sandbox-bwrap/assemble-program.ts";
import type { Architecture } from "../../../src/adapters/sandbox-bwrap/seccomp-filter.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "surety-program-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function run(calls: readonly SystemCall[], words: readonly string[]) {
  const path = join(directory, "program");
  writeFileSync(path, assembleProgram(process.arch as Architecture, calls), { mode: 0o755 });
  const { status, stdout } = spawnSync(path, words, { env: { KEPT: "kept" } });
  return [status, `${stdout}`];
}

describe("on this machine", () => {
  const write: SystemCall = {
    number: process.arch === "arm64" ? 64 : 1,
    args: [1, Buffer.from("called\n"), 7],
    exitCodeOnFailure: 65,
  };

  test("its calls are made in order, and then it is the program that its words name, in the same environment", () => {
    const words = ["/bin/sh", "-c", 'echo "$0" "$1" "$KEPT"', "first", "second word"];
    expect(run([write, write], words)).toEqual([0, "called\ncalled\nfirst second word kept\n"]);
    expect(run([], ["/bin/sh", "-c", "exit 3"])).toEqual([3, ""]);
  });

  test("the first call that fails ends it with that call's exit code", () => {
    const failing = (exitCodeOnFailure: number): SystemCall => ({ ...write, args: [-1, 0, 0], exitCodeOnFailure });
    expect(run([write, failing(66), failing(67), write], ["/bin/sh"])).toEqual([66, "called\n"]);
  });

  test("a program that does not exist is 127", () => {
    expect(run([], [join(directory, "missing")])).toEqual([127, ""]);
  });
});

test("on arm64 it is what an assembler makes of it", () => {
  const program = assembleProgram("arm64", [{ number: 436, args: [5, 0xffffffff], exitCodeOnFailure: 65 }]);
  const code = Buffer.from(program).subarray(120);
  const instructions = Array.from({ length: code.length / 4 }, (_, index) => code.readUInt32LE(index * 4).toString(16));
  expect(instructions.join(" ")).toBe(
    [
      "910003f3", // mov x19, sp
      "d28000a0 f2a00000 f2c00000 f2e00000", // mov x0, #5
      "d29fffe1 f2bfffe1 f2c00001 f2e00001", // mov x1, #0xffffffff
      "d2803688 f2a00008 f2c00008 f2e00008", // mov x8, #436
      "d4000001", // svc #0
      "b6f80140", // tbz x0, #63, .+40
      "d2800820 f2a00000 f2c00000 f2e00000", // mov x0, #65
      "d2800ba8 f2a00008 f2c00008 f2e00008", // mov x8, #93
      "d4000001", // svc #0
      "f9400a60 91004261 f9400262 8b020e62 91004042", // x0 = argv[1], x1 = argv + 1, x2 = environment
      "d2801ba8 f2a00008 f2c00008 f2e00008", // mov x8, #221
      "d4000001", // svc #0
      "d2800fe0 f2a00000 f2c00000 f2e00000", // mov x0, #127
      "d2800ba8 f2a00008 f2c00008 f2e00008", // mov x8, #93
      "d4000001", // svc #0
    ].join(" "),
  );
});
