/**
 * `conformance/` in a home: the newest report for each model (`<reference>.json`), and the working directories of
 * conformance runs, which are removed when they end or, after a kill, by the next one.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { takeHomeLock } from "../adapters/store-sqlite/home-lock.ts";
import {
  type ConformanceReport,
  parseStoredReport,
  type StoredReport,
} from "../assistant/conformance/conformance-report.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { StoreError } from "../runtime/ports/store.ts";
import { systemCodeOf } from "./boot-error.ts";
import { replaceFile } from "./durable-file.ts";
import type { Home } from "./home.ts";
import { readBoundedFile, UnreadableFile } from "./read-bounded-file.ts";

const MAX_REPORT_BYTES = 1024 * 1024;
const PRIVATE_DIRECTORY = 0o700;
const WORK_PREFIX = ".run-";
/** A younger directory may not be locked yet by the run that made it. */
const SETTLING_MS = 60_000;

const folderOf = ({ directory }: Home): string => join(directory, "conformance");

async function openFolder(home: Home): Promise<string> {
  await mkdir(folderOf(home), { recursive: true, mode: PRIVATE_DIRECTORY });
  return folderOf(home);
}

export async function saveReport(
  home: Home,
  { model, ...found }: ConformanceReport,
  at: string,
  random: RandomBytes,
): Promise<void> {
  const file = join(await openFolder(home), `${encodeURIComponent(model)}.json`);
  await replaceFile(file, `${JSON.stringify({ model, at, ...found }, null, 2)}\n`, random);
}

/** By model reference. A file that is missing, unreadable or malformed is left out. */
export async function readReports(home: Home): Promise<ReadonlyMap<string, StoredReport>> {
  const folder = folderOf(home);
  const files = ((await orNull(readdir(folder))) ?? []).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(files.map((name) => orNull(readBoundedFile(join(folder, name), MAX_REPORT_BYTES))));
  return new Map(
    texts
      .flatMap((text) => (text === null ? [] : [parseReport(text.toString("utf8"))]))
      .filter((each) => each !== null),
  );
}

function parseReport(text: string): ReturnType<typeof parseStoredReport> {
  try {
    return parseStoredReport(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Null where the operating system refuses. */
async function orNull<Result>(reading: Promise<Result>): Promise<Result | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof UnreadableFile || systemCodeOf(error) !== null) return null;
    throw error;
  }
}

/** A new working directory, after removing those that killed runs left behind. */
export async function makeWorkDirectory(home: Home, nowMs: number): Promise<string> {
  const folder = await openFolder(home);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name.startsWith(WORK_PREFIX)) await removeStale(join(folder, entry.name), nowMs);
  }
  return await mkdtemp(join(folder, WORK_PREFIX));
}

/** A run at work holds its directory's lock. What cannot be removed is left to the next start. */
async function removeStale(directory: string, nowMs: number): Promise<void> {
  try {
    const { mtimeMs } = await stat(directory);
    if (nowMs - mtimeMs < SETTLING_MS) return;
    const lock = takeHomeLock(directory);
    try {
      await rm(directory, { recursive: true, force: true });
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof StoreError) && systemCodeOf(error) === null) throw error;
  }
}
