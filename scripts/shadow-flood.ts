/**
 * `npm run flood -- [--events N] [--seconds S]`: a gateway whose shadow loop watches a directory in which 100,000 files change
 * within a minute. Prints how fast it answers meanwhile, what its memory does, and when the first change after the flood is
 * noticed; exits 1 when a bound is missed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { events: { type: "string", default: "100000" }, seconds: { type: "string", default: "60" } },
});
const EVENTS = Number(values.events);
const SECONDS = Number(values.seconds);
const FILES = 5_000;
/** An answer takes at most so long, at the 99th percentile. */
const MAX_ANSWER_MS = 500;
/** What the flood may add to the gateway, its watching thread included. */
const MAX_GROWTH_MB = 250;
/** A change is noticed that long after the flood. */
const MAX_NOTICE_MS = 60_000;

const home = await mkdtemp(join(tmpdir(), "surety-flood-"));
const workspace = join(home, "workspace");
await mkdir(workspace);
const shadow = { enabled: true, cooldown: 0, maxGhostsPerHour: 1000 };
await writeFile(join(home, "surety.json5"), JSON.stringify({ shadow }));
const gateway = spawn(process.execPath, ["dist/surety.js", "start", "--home", home, "--port", "0"], {
  stdio: ["ignore", "pipe", "pipe"],
});
try {
  const url = await listening(gateway);
  const token = (await readFile(join(home, "token"), "utf8")).trim();
  const ask = async (path: string): Promise<unknown> => {
    const answered = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    if (!answered.ok) throw new Error(`${path}: ${answered.status}`);
    return await answered.json();
  };
  await pause(3_000);
  const before = memoryMb(gateway);
  const answersMs: number[] = [];
  let peakMb = before;
  const flooding = { isOver: false };
  const asking = (async () => {
    while (!flooding.isOver) {
      const from = performance.now();
      await ask("/api/ghosts");
      answersMs.push(performance.now() - from);
      peakMb = Math.max(peakMb, memoryMb(gateway));
      await pause(20);
    }
  })();
  const startedAt = performance.now();
  for (let done = 0; done < EVENTS; ) {
    const due = Math.min(EVENTS, Math.ceil(((performance.now() - startedAt) / 1_000) * (EVENTS / SECONDS)));
    while (done < due) {
      const batch = Array.from({ length: Math.min(50, due - done) }, (_, index) => done + index);
      await Promise.all(batch.map((at) => writeFile(join(workspace, `${at % FILES}.json`), `[${at}]`)));
      done += batch.length;
    }
    await pause(5);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  flooding.isOver = true;
  await asking;
  const floodEndedAt = performance.now();
  const isNoticed = async (): Promise<boolean> =>
    JSON.stringify(await ask("/api/ghosts?limit=500")).includes("after.yaml");
  await writeFile(join(workspace, "after.yaml"), "a: [1\nb: 2\n");
  while (!(await isNoticed()) && performance.now() - floodEndedAt < MAX_NOTICE_MS) {
    await writeFile(join(workspace, "after.yaml"), `a: [1\nb: 2\n# ${performance.now()}\n`);
    await pause(500);
  }
  const noticeMs = performance.now() - floodEndedAt;
  const sorted = answersMs.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  const figures: readonly (readonly [string, string, boolean])[] = [
    ["events", `${EVENTS} in ${seconds.toFixed(1)} s`, true],
    [
      "answers",
      `${sorted.length}, p50 ${ms(sorted[sorted.length >> 1])}, p99 ${ms(p99)}, max ${ms(sorted.at(-1))}`,
      p99 <= MAX_ANSWER_MS,
    ],
    [
      "memory",
      `${before} MB before, ${peakMb} MB at most, ${memoryMb(gateway)} MB after`,
      peakMb - before <= MAX_GROWTH_MB,
    ],
    ["noticed after the flood", `in ${(noticeMs / 1_000).toFixed(1)} s`, noticeMs < MAX_NOTICE_MS],
  ];
  for (const [name, figure, isKept] of figures) console.log(`${isKept ? " " : "!"} ${name.padEnd(24)} ${figure}`);
  process.exitCode = figures.every(([, , isKept]) => isKept) ? 0 : 1;
} finally {
  gateway.kill("SIGTERM");
  await new Promise((resolve) => gateway.once("close", resolve));
  await rm(home, { recursive: true, force: true });
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const read = (chunk: Buffer): void => {
      said += chunk.toString();
      const url = /surety listening on (\S+)/.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("close", () => reject(new Error(`the gateway ended: ${said}`)));
  });
}

function memoryMb({ pid }: ChildProcess): number {
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024);
}

function ms(value = Number.NaN): string {
  return `${value.toFixed(1)} ms`;
}
