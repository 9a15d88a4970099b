/** A directory that is gone when the test is over. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { findHome, type Home } from "../../src/boot/home.ts";

export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "surety-boot-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Found below the directory, not opened. */
export async function temporaryHome(): Promise<Home> {
  return findHome(join(await temporaryDirectory(), "home"), () => undefined);
}
