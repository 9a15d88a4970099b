/**
 * Small files that must never be seen half-written: made aside, synced, then put in place at once.
 *
 * D1. Whoever reads the file finds all of it or none of it, whenever the writer is killed.
 * D2. `createFile` never replaces: of two makers one wins, and the other is told.
 * D3. Files are 0600 from their first byte on.
 */
import { access, constants, link, open, realpath, rename, unlink, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { BootError, systemCodeOf } from "./boot-error.ts";

const PRIVATE = 0o600;

export async function createFile(path: string, content: string, random: RandomBytes): Promise<"created" | "existing"> {
  const aside = await writeAside(path, content, random);
  try {
    await link(aside, path);
  } catch (error) {
    if (systemCodeOf(error) !== "EEXIST") throw error;
    return "existing";
  } finally {
    await unlink(aside);
  }
  await syncDirectory(path);
  return "created";
}

/** Replaces what a symbolic link points at, not the link. */
export async function replaceFile(path: string, content: string, random: RandomBytes): Promise<void> {
  const target = await followLinks(path);
  const aside = await writeAside(target, content, random);
  try {
    await rename(aside, target);
  } catch (error) {
    await unlink(aside);
    throw error;
  }
  await syncDirectory(target);
}

async function writeAside(path: string, content: string, random: RandomBytes): Promise<string> {
  const aside = `${path}.${Buffer.from(random(6)).toString("hex")}.tmp`;
  const file = await open(aside, "wx", PRIVATE);
  try {
    await file.writeFile(content);
    await file.sync();
  } catch (error) {
    await unlink(aside);
    throw error;
  } finally {
    await file.close();
  }
  return aside;
}

async function followLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return path;
    throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(dirname(path), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * A file that a command writes for somebody, where they said.
 *
 * N1. Nothing is replaced: what is there already may be all that somebody has.
 * N2. What cannot be written is told before the work for it is done, by its name.
 */

/** `area` is that of the error's code. Returns the whole path. */
export async function assertNewFile(path: string, area: "backup" | "export"): Promise<string> {
  const file = resolve(path);
  const directory = dirname(file);
  try {
    await access(directory, constants.W_OK);
  } catch (error) {
    const hint = "Make that directory, or name a file in one that you may write to.";
    throw unwritable(area, `nothing can be written in ${directory}`, hint, error);
  }
  if (await isThere(file))
    throw new BootError(`${area}.exists`, `${file} is there already`, `Name another file in ${directory}.`);
  return file;
}

/** For its owner alone. */
export async function writeNewFile(file: string, text: string, area: "export"): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    throw unwritable(area, `${file} cannot be written`, "Name another file, or make room for it.", error);
  }
}

function unwritable(area: string, what: string, hint: string, cause: unknown): BootError {
  return new BootError(`${area}.unwritable`, `${what} (${systemCodeOf(cause) ?? "unknown"})`, hint, { cause });
}

async function isThere(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}
