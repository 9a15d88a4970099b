/**
 * Small files that must never be seen half-written: made aside, synced, then put in place at once.
 *
 * D1. Whoever reads the file finds all of it or none of it, whenever the writer is killed.
 * D2. `createFile` never replaces: of two makers one wins, and the other is told.
 * D3. Files are 0600 from their first byte on.
 */
import { link, open, realpath, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { systemCodeOf } from "./boot-error.ts";

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
