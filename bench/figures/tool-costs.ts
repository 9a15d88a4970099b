/**
 * The tools beside what they are made of: `shell.exec` beside the same program spawned bare, file tools beside bare calls of
 * `node:fs`. A call is planned and run, as in a run, without machine and store.
 */

import { spawn } from "node:child_process";
import { open, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { createToolbox } from "../../src/adapters/tools/create-toolbox.ts";
import { openBuiltInTools } from "../../src/boot/built-in-tools.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import type { Arguments, Toolbox } from "../../src/runtime/ports/toolbox.ts";
import { elapsedMs, measureBlocks, median, ratioOf } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import type { Row } from "../row.ts";
import { makeHome, removeDirectory, temporaryDirectory } from "../scene.ts";

const MOST_EXTRA_MS = 15;

export const toolCosts: Figure = { name: "tools", measure };

async function measure({ isQuick, blocks }: BenchWorld): Promise<readonly Row[]> {
  const directory = await temporaryDirectory();
  try {
    const home = await makeHome(directory);
    const { toolsFor } = await openBuiltInTools({ home, config: DEFAULT_CONFIG, clock: systemClock });
    const toolbox = createToolbox(toolsFor(DEFAULT_CONFIG, []), { clock: systemClock, onDefect: fail });
    const { workspace } = home;
    return [
      await commandRow(toolbox, workspace, blocks, isQuick ? 10 : 30),
      ...(await fileRows(toolbox, workspace, blocks, isQuick ? 50 : 300)),
    ];
  } finally {
    await removeDirectory(directory);
  }
}

async function commandRow(toolbox: Toolbox, workspace: string, blocks: number, calls: number): Promise<Row> {
  const measured = await measureBlocks(
    blocks,
    () => typicalMs(calls, () => callTool(toolbox, "shell.exec", { cmd: "ls -la" })),
    () => typicalMs(calls, () => spawnBare(workspace)),
  );
  const { value: ratio } = ratioOf(measured);
  const bareMs = median(measured.map(({ baseline }) => baseline));
  return {
    name: "shell.exec ls -la, more than spawned bare",
    value: median(measured.map(({ subject, baseline, again }) => subject - (baseline + again) / 2)),
    spread: median(measured.map(({ baseline, again }) => Math.abs(again - baseline))),
    unit: "ms",
    bound: { is: "at most", must: MOST_EXTRA_MS },
    note: `${ratio.toFixed(1)} × ${bareMs.toFixed(1)} ms${process.getuid?.() === 0 ? "; as root, which costs more" : ""}`,
  };
}

async function fileRows(toolbox: Toolbox, workspace: string, blocks: number, calls: number): Promise<readonly Row[]> {
  const counted = counter();
  const pairs: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
    [
      "fs.read_text ÷ readFile",
      () => callTool(toolbox, "fs.read_text", { path: "n001.txt" }),
      () => readFile(join(workspace, "n001.txt"), "utf8"),
    ],
    [
      "fs.list_dir ÷ readdir",
      () => callTool(toolbox, "fs.list_dir", { path: "." }),
      () => readdir(workspace, { withFileTypes: true }),
    ],
    [
      "fs.write_text ÷ durable write and rename",
      () => callTool(toolbox, "fs.write_text", { path: `made/${counted()}.txt`, text: TEXT }),
      () => writeDurably(join(workspace, `${counted()}.txt`), workspace),
    ],
  ];
  const rows: Row[] = [];
  for (const [name, subject, baseline] of pairs) {
    const measured = await measureBlocks(
      blocks,
      () => meanMs(calls, subject),
      () => meanMs(calls, baseline),
    );
    const bareUs = median(measured.map((block) => block.baseline)) * 1000;
    rows.push({ name, ...ratioOf(measured), unit: "", bound: null, note: `bare ${bareUs.toFixed(0)} µs` });
  }
  return rows;
}

const TEXT = "a short note\n";

/** Of so many calls one after another: what a call usually takes, whatever else the machine did meanwhile. */
async function typicalMs(calls: number, call: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let count = 0; count < calls; count += 1) taken.push(await elapsedMs(call));
  return median(taken);
}

async function meanMs(calls: number, work: () => Promise<unknown>): Promise<number> {
  const ms = await elapsedMs(async () => {
    for (let call = 0; call < calls; call += 1) await work();
  });
  return ms / calls;
}

async function callTool(toolbox: Toolbox, tool: string, args: Arguments): Promise<void> {
  const planned = await toolbox.plan(tool, args);
  if (!planned.ok) throw new Error(planned.error.message);
  const { signal } = new AbortController();
  const envelope = await toolbox.run(planned, { ...CONTEXT, signal });
  if (!(envelope as { readonly ok: boolean }).ok) throw new Error(JSON.stringify(envelope));
}

const CONTEXT = {
  ...{ requestId: "bench", runId: "bench", agentId: "main", timeoutMs: 10_000, idempotencyKey: null },
  ...{ isRepeat: false, mayAct: true, seen: USER_LABELS, onOutput: null },
};

function spawnBare(cwd: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = spawn("/usr/bin/ls", ["-la"], { cwd, env: {}, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.resume();
    child.stderr.resume();
    child.on("error", reject).on("close", resolve);
  });
}

/** What anybody would do whose file must be whole after a power cut. */
async function writeDurably(path: string, directory: string): Promise<void> {
  const file = await open(`${path}.tmp`, "wx");
  try {
    await file.writeFile(TEXT);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.tmp`, path);
  const handle = await open(directory);
  await handle.sync();
  await handle.close();
}

function counter(): () => number {
  let count = 0;
  return () => {
    count += 1;
    return count;
  };
}

function fail(error: unknown): never {
  throw error;
}
