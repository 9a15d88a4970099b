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
  readonly failures: readonly FailedCase[];
}

interface FailedCase {
  readonly id: string;
  readonly expected: string;
  readonly outcome: string;
  /** Null in a file of a version that did not keep it. */
  readonly problem: string | null;
}

/** By the model's reference, which the file holds. */
export async function readConformance({ directory }: Home): Promise<ReadonlyMap<string, ConformanceResult>> {
  const folder = join(directory, "conformance");
  const files = (await namesIn(folder)).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(files.map((name) => textOf(join(folder, name))));
  return new Map(texts.flatMap((text) => (text === null ? [] : (resultOf(text) ?? []))));
}

async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    // Whatever the system says about it: a directory, no permission, gone by now.
    if (systemCodeOf(error) !== null) return null;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCodeOf(error) !== null) return [];
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
  const { model, at, passed, failed, cases } = value as Readonly<Record<string, unknown>>;
  if (typeof model !== "string" || typeof at !== "string") return null;
  if (typeof passed !== "number" || typeof failed !== "number") return null;
  return [[model, { at, passed, failed, failures: Array.isArray(cases) ? cases.flatMap(failedCase) : [] }]];
}

function failedCase(value: unknown): readonly FailedCase[] {
  if (typeof value !== "object" || value === null) return [];
  const { id, expected, outcome, passed, problem } = value as Readonly<Record<string, unknown>>;
  if (passed !== false || typeof id !== "string" || typeof expected !== "string" || typeof outcome !== "string")
    return [];
  return [{ id, expected, outcome, problem: typeof problem === "string" ? problem : null }];
}
