/** How long an answer about the sandbox is believed. */
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkAgain } from "../../../src/adapters/sandbox-bwrap/check-again.ts";
import { createBwrapSandbox } from "../../../src/adapters/sandbox-bwrap/create-bwrap-sandbox.ts";
import { FALLBACK_USER } from "../../../src/adapters/sandbox-bwrap/workspace-user.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";

function handClock() {
  let ms = 0;
  return { clock: { ...systemClock, monotonicMs: () => ms }, pass: (by: number) => (ms += by) };
}

test("a property that did not hold is checked again: after a second, then after twice as long, up to a minute", async () => {
  const { clock, pass } = handClock();
  let count = 0;
  const check = checkAgain(() => Promise.resolve([`missing ${++count}`]), clock);
  const waits: number[] = [];
  expect(await check()).toEqual(["missing 1"]);
  for (let round = 1; round < 9; round++) {
    let waitedMs = 0;
    while (count === round) {
      pass(500);
      waitedMs += 500;
      await check();
    }
    waits.push(waitedMs);
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test("what holds is checked once; callers at the same time share one check", async () => {
  const { clock, pass } = handClock();
  let count = 0;
  const check = checkAgain(() => {
    count++;
    return Promise.resolve([]);
  }, clock);
  await Promise.all([check(), check()]);
  pass(3_600_000);
  expect(await check()).toEqual([]);
  expect(count).toBe(1);
});

test("a check that itself fails is made again too", async () => {
  const { clock, pass } = handClock();
  let isFirst = true;
  const check = checkAgain(() => {
    if (!isFirst) return Promise.resolve([]);
    isFirst = false;
    return Promise.reject(new Error("no more files"));
  }, clock);
  await expect(check()).rejects.toThrow("no more files");
  await expect(check()).rejects.toThrow("no more files");
  pass(1000);
  expect(await check()).toEqual([]);
});

test("bubblewrap that is installed while the gateway runs is found", async () => {
  const directory = mkdtempSync(join(tmpdir(), "surety-bwrap-"));
  const { clock, pass } = handClock();
  const bwrapPath = join(directory, "bwrap");
  const fallbackUser = process.getuid?.() === 0 ? FALLBACK_USER : null;
  const sandbox = createBwrapSandbox({ clock, bwrapPath, architecture: process.arch, fallbackUser });
  expect(await sandbox.check()).toEqual([expect.stringContaining("install the package bubblewrap")]);
  symlinkSync("/usr/bin/bwrap", bwrapPath);
  pass(1000);
  // As root it is then missed elsewhere: the namespace in which the sandbox is made shows no temporary directory.
  expect((await sandbox.check()).join()).not.toContain("install the package bubblewrap");
  rmSync(directory, { recursive: true });
});
