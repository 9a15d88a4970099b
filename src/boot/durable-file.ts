/**
 * Files that are never seen half-written: written beside their place, synced, then moved there.
 *
 * D1. A reader finds all of the file or none of it, even if the writer is killed.
 * D2. `createFile` never replaces: of two processes one creates the file, the other gets "existing".
 * D3. Files have mode 0600 from the first byte.
 */
import { access, constants, link, open, realpath, rename, unlink, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { BootError, systemCodeOf } from "./boot-error.ts";
import { homeUnusable } from "./home.ts";
import { readBoundedFile, UnreadableFile } from "./read-bounded-file.ts";

const PRIVATE = 0o600;
const MAX_SECRET_FILE_BYTES = 64 * 1024;

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

/** A secret of the home, which errors call `what`; null when the file is missing. */
export async function readSecret(file: string, what: string): Promise<string | null> {
  try {
    return (await readBoundedFile(file, MAX_SECRET_FILE_BYTES))?.toString("utf8") ?? null;
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw homeUnusable(file, `${what} cannot be read (${error.why})`, error);
  }
}

/** Returns what the file then holds: another process may have created it first. */
export async function createSecret(file: string, what: string, text: string, random: RandomBytes): Promise<string> {
  try {
    if ((await createFile(file, text, random)) === "created") return text;
  } catch (error) {
    throw homeUnusable(file, `${what} cannot be written (${systemCodeOf(error) ?? "unknown"})`, error);
  }
  const other = await readSecret(file, what);
  if (other === null) throw homeUnusable(file, `${what} was deleted while it was read`);
  return other;
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
 * Fails early, before the work for the file is done, if it exists or cannot be created. Returns the absolute path.
 * `area` begins the error's code.
 */
export async function assertNewFile(path: string, area: "backup" | "export"): Promise<string> {
  const file = resolve(path);
  const directory = dirname(file);
  try {
    await access(directory, constants.W_OK);
  } catch (error) {
    const hint = "Create that directory, or name a file in another one.";
    throw unwritable(area, `you may not write to ${directory}`, hint, error);
  }
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw new BootError(`${area}.exists`, `${file} already exists`, `Name another file in ${directory}.`);
  return file;
}

export async function writeNewFile(file: string, text: string, area: "export"): Promise<void> {
  try {
    await writeFile(file, text, { mode: PRIVATE, flag: "wx" });
  } catch (error) {
    throw unwritable(area, `${file} cannot be written`, "Free some space, or name a file elsewhere.", error);
  }
}

function unwritable(area: string, what: string, hint: string, cause: unknown): BootError {
  return new BootError(`${area}.unwritable`, `${what} (${systemCodeOf(cause) ?? "unknown"})`, hint, { cause });
}
