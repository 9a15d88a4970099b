/**
 * A file that a command writes for somebody, where they said.
 *
 * N1. Nothing is replaced: what is there already may be all that somebody has.
 * N2. What cannot be written is told before the work for it is done, by its name.
 */
import { access, constants, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { BootError, systemCodeOf } from "./boot-error.ts";

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
