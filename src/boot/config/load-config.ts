/** Loads the config of a home. Without a file the defaults apply, and the validator is not loaded. */
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { BootError, systemCodeOf } from "../boot-error.ts";
import { homeUnusable } from "../home.ts";
import type { Config } from "./config.ts";
import { toBootError } from "./config-problem.ts";
import { DEFAULT_CONFIG } from "./default-config.ts";

export async function loadConfig(file: string): Promise<Config> {
  const text = await readConfigText(file);
  if (text === null) return DEFAULT_CONFIG;
  const { readConfig } = await import("./read-config.ts");
  const verdict = readConfig(text, file);
  if (!verdict.ok) throw toBootError(verdict.problems);
  return verdict.config;
}

/** Null when there is no file. */
export async function readConfigText(file: string): Promise<string | null> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOENT") return null;
    if (code === "ENOTDIR") throw homeUnusable(dirname(file), "a file is in the way", error);
    throw unreadable(file, code ?? "it is not UTF-8", error);
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
