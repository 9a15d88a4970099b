/** How much the home takes, and how much is left for it. The workspace is the person's own, and does not count. */
import { lstat, readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { systemCodeOf } from "./boot-error.ts";
import type { Config } from "./config/config.ts";
import type { Home } from "./home.ts";

/** `code` is for programs; `message` says what is wrong and what to do. */
export interface SpaceProblem {
  readonly code: "quota.exceeded" | "disk.low";
  readonly message: string;
}

/** The database without what is free in it, files made of it, logs, cached pages, and the state of tools. */
export async function homeBytes(home: Home, databaseBytes: () => Promise<number>): Promise<number> {
  const { agentsDirectory, logsDirectory, toolStateDirectory, pageCache } = home;
  const parts = await Promise.all([
    databaseBytes(),
    ...[agentsDirectory, logsDirectory, toolStateDirectory].map(bytesBelow),
    ...[pageCache, `${pageCache}-wal`].map(bytesOf),
  ]);
  return parts.reduce((sum, bytes) => sum + bytes, 0);
}

export async function spaceProblems(
  home: Home,
  { quotaBytes, minFreeBytes }: Config["retention"],
  databaseBytes: () => Promise<number>,
): Promise<readonly SpaceProblem[]> {
  const problems: SpaceProblem[] = [];
  const { bavail, bsize } = await statfs(home.directory);
  const freeBytes = bavail * bsize;
  if (freeBytes < minFreeBytes) {
    const message = `The disk of the home has ${inWords(freeBytes)} left. Free some space: at 0 nothing can be saved.`;
    problems.push({ code: "disk.low", message });
  }
  const usedBytes = quotaBytes === undefined ? 0 : await homeBytes(home, databaseBytes);
  if (quotaBytes !== undefined && usedBytes > quotaBytes) {
    const message = `The home takes ${inWords(usedBytes)}, more than retention.quotaBytes (${inWords(quotaBytes)}). Forget what you no longer need (surety forget), or set retention.maxBytes.`;
    problems.push({ code: "quota.exceeded", message });
  }
  return problems;
}

async function bytesBelow(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(nothingIfMissing);
  let total = 0;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    total += entry.isDirectory() ? await bytesBelow(path) : await bytesOf(path);
  }
  return total;
}

export async function bytesOf(path: string): Promise<number> {
  return await lstat(path).then(
    ({ size }) => size,
    (error: unknown) => {
      nothingIfMissing(error);
      return 0;
    },
  );
}

/** What is removed meanwhile takes nothing. */
function nothingIfMissing(error: unknown): readonly [] {
  if (systemCodeOf(error) === null) throw error;
  return [];
}

function inWords(bytes: number): string {
  return bytes < 1_000_000_000 ? `${Math.round(bytes / 1_000_000)} MB` : `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}
