/** Loads the config of a home. Without a file the defaults apply, and the validator is not loaded. */
import { dirname } from "node:path";
import { BootError } from "../boot-error.ts";
import { homeUnusable } from "../home.ts";
import { readBoundedFile, UnreadableFile } from "../read-bounded-file.ts";
import type { Config } from "./config.ts";
import { toBootError } from "./config-problem.ts";
import { DEFAULT_CONFIG } from "./default-config.ts";

/** `read-config.ts` limits the characters. */
const MAX_CONFIG_BYTES = 4 * 1024 * 1024;

export async function loadConfig(file: string): Promise<Config> {
  return (await findConfig(file)) ?? DEFAULT_CONFIG;
}

/** Null when there is no file. */
export async function findConfig(file: string): Promise<Config | null> {
  const text = await readConfigText(file);
  if (text === null) return null;
  const { readConfig } = await import("./read-config.ts");
  const verdict = readConfig(text, file);
  if (!verdict.ok) throw toBootError(verdict.problems);
  return verdict.config;
}

/** Null when there is no file. */
export async function readConfigText(file: string): Promise<string | null> {
  try {
    const bytes = await readBoundedFile(file, MAX_CONFIG_BYTES);
    return bytes === null ? null : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw unreadable(file, "it is not UTF-8", error);
    if (error.why === "ENOTDIR") throw homeUnusable(dirname(file), "a file is in the way", error);
    throw unreadable(file, error.why, error);
  }
}

function unreadable(file: string, why: string, cause: unknown): BootError {
  return new BootError(
    "config.unreadable",
    `${file} cannot be read (${why})`,
    "It must be a readable UTF-8 text file. Fix it, or move it away to use the defaults.",
    { cause },
  );
}
