/**
 * What `surety conformance` last found of a model, as it left it in the home: `conformance/<ref>.json`.
 *
 * R1. A file that is missing, unreadable or of another shape tells nothing; it is not an error of whoever only looks.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCodeOf } from "./boot-error.ts";
import type { Home } from "./home.ts";

export interface ConformanceResult {
  readonly at: string;
  readonly passed: number;
  readonly failed: number;
}

/** By the model's reference, which the file holds. */
export async function readConformance({ directory }: Home): Promise<ReadonlyMap<string, ConformanceResult>> {
  const folder = join(directory, "conformance");
  const files = (await namesIn(folder)).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  return new Map(texts.flatMap((text) => resultOf(text) ?? []));
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return [];
    throw error;
  }
}

function resultOf(text: string): readonly [readonly [string, ConformanceResult]] | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { model, at, passed, failed } = value as Readonly<Record<string, unknown>>;
  if (typeof model !== "string" || typeof at !== "string") return null;
  if (typeof passed !== "number" || typeof failed !== "number") return null;
  return [[model, { at, passed, failed }]];
}
