/**
 * How often the store waits for the disk, counted by strace in a process of its own: every fsync and fdatasync of its
 * files, the carrying over of the log included. What opening and closing a home costs is measured alike and taken off.
 *
 * A tool that writes a file syncs it too, and its directory: that is the tool's own promise, told in the note.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BenchWorld, Figure } from "../figure.ts";
import { digits, type Row } from "../row.ts";
import { makeHome, removeDirectory, stepsOf, temporaryDirectory } from "../scene.ts";

const LOAD = join(import.meta.dirname, "..", "sync-load.ts");
const TURNS = 10;
const DEADLINE_MS = 180_000;
const run = promisify(execFile);

interface Syncs {
  readonly store: number;
  /** Of files that are not the store's. */
  readonly others: number;
}

export const syncs: Figure = { name: "syncs", measure };

async function measure({ isQuick, model }: BenchWorld): Promise<readonly Row[]> {
  const many = isQuick ? 5 : 60;
  const rows: readonly [name: string, must: number, tool: string, runs: number, atOnce: number][] = [
    ["syncs per read_only step", 1.1, "fs.read_text", many, 1],
    ["syncs per step with a side effect", 2.1, "fs.write_text", many, 1],
    ["syncs per step, 64 runs at once", 0.1, "fs.read_text", 64 * (isQuick ? 1 : 5), 64],
  ];
  const measured: Row[] = [];
  for (const [name, must, tool, runs, atOnce] of rows) {
    const steps = runs * stepsOf(TURNS);
    const counted = await syncsOf(model.ready, tool, runs, atOnce);
    const isCounted = typeof counted !== "string";
    const value = isCounted ? counted.store / steps : null;
    const tools = isCounted && counted.others > 0 ? `; the tool's own ${digits(counted.others / steps)} a step` : "";
    const note = isCounted ? `strace: ${counted.store} in ${steps} steps${tools}` : counted;
    measured.push({ name, value, spread: 0, unit: "", bound: { is: "at most", must }, note });
  }
  return measured;
}

async function syncsOf(baseUrl: string, tool: string, runs: number, atOnce: number): Promise<Syncs | string> {
  const directory = await temporaryDirectory();
  try {
    await makeHome(directory);
    // The first opening makes the database; the second is what every start costs.
    await trace(directory, baseUrl, tool, 0, atOnce);
    const idle = await trace(directory, baseUrl, tool, 0, atOnce);
    const busy = await trace(directory, baseUrl, tool, runs, atOnce);
    return { store: busy.store - idle.store, others: busy.others - idle.others };
  } catch (error) {
    return `strace cannot be used here (${error instanceof Error ? error.message.split("\n")[0] : error})`;
  } finally {
    await removeDirectory(directory);
  }
}

async function trace(home: string, baseUrl: string, tool: string, runs: number, atOnce: number): Promise<Syncs> {
  const report = join(home, "strace.txt");
  const calls = "trace=fsync,fdatasync,msync,sync_file_range,syncfs";
  const node = [process.execPath, LOAD, home, baseUrl, tool, String(runs), String(atOnce), String(TURNS)];
  await run("strace", ["-f", "-y", "--seccomp-bpf", "-qq", "-o", report, "-e", calls, ...node], {
    timeout: DEADLINE_MS,
  });
  // A call that another thread's interrupts in the report is told in two lines; the first names it and its file.
  const lines = (await readFile(report, "utf8")).split("\n");
  const files = lines.flatMap(
    (line) => /\b(?:fsync|fdatasync|msync|sync_file_range|syncfs)\((.*)/.exec(line)?.[1] ?? [],
  );
  const store = files.filter((file) => file.includes("/surety.db") || file.includes("/lock.db")).length;
  // Records are written when the home is closed, after the last step.
  const records = files.filter((file) => file.includes("/agents/")).length;
  return { store, others: files.length - store - records };
}
