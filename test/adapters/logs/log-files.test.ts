/** The log files on a real disk: caps, modes, redaction, and failures that hurt nothing. */
import { appendFile, chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LogFiles } from "../../../src/adapters/logs/log-files.ts";
import { LogReader } from "../../../src/adapters/logs/read-logs.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import type { Secret } from "../../../src/kernel/redaction/known-secrets.ts";
import { compileRedactor, type Redactor } from "../../../src/kernel/redaction/redact.ts";
import { temporaryDirectory } from "../../boot/temporary-home.ts";
import { verifies } from "../../requirements.ts";

const LIMITS = { maxBytes: 1000, maxFiles: 3 };

async function openLogs(limits = LIMITS) {
  const directory = join(await temporaryDirectory(), "logs");
  const logs = new LogFiles(directory, systemClock, limits);
  const sizes = async (folder: string) => {
    const names = (await readdir(join(directory, folder))).toSorted();
    return Promise.all(names.map(async (name) => [name, (await stat(join(directory, folder, name))).size] as const));
  };
  const read = () => new LogReader(directory).next();
  return { directory, logs, sizes, read };
}

function redactorOf(secrets: readonly Secret[]): Redactor {
  const verdict = compileRedactor({ secrets, emails: true, phones: true });
  if (!verdict.ok) throw new Error(verdict.reason);
  return verdict.redactor;
}

verifies(
  ["P-4.4/size", "P-4.4/count", "P-6/log-rotation"],
  "a log keeps to its bytes a file and its number of files",
  async () => {
    const { logs, sizes, read } = await openLogs();
    for (let at = 0; at < 60; at += 1) {
      logs.write({ provider: "loop" }, "info", "tick", { at });
      if (at % 7 === 0) await logs.flush();
    }
    await logs.flush();
    const files = await sizes("loop");
    expect(files.map(([name]) => name)).toEqual(["requests.1.jsonl", "requests.2.jsonl", "requests.jsonl"]);
    expect(Math.max(...files.map(([, size]) => size))).toBeLessThanOrEqual(LIMITS.maxBytes);
    const kept = (await read()).map(({ at }) => at as number);
    // The newest, without a gap and in order.
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 60 - kept.length + index));
    expect(kept.length).toBeGreaterThan(20);
    // Fewer files are configured while it runs.
    logs.use(() => ({ maxBytes: 1000, maxFiles: 1 }), redactorOf([]));
    logs.write({ provider: "loop" }, "info", "tick", {});
    await logs.flush();
    expect((await sizes("loop")).map(([name]) => name)).toEqual(["requests.jsonl"]);
  },
);

verifies("P-4.4/places", "the gateway and each provider have a folder, readable by the owner alone", async () => {
  const { directory, logs } = await openLogs();
  logs.write("gateway", "info", "one", {});
  logs.write({ provider: "loop" }, "warn", "two", {});
  // No id of a provider leads out of the directory.
  logs.write({ provider: "../../etc" }, "error", "three", {});
  await logs.flush();
  const files = ["gateway/gateway.jsonl", "loop/requests.jsonl", "other/requests.jsonl"];
  for (const file of files) expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
  expect((await stat(join(directory, "loop"))).mode & 0o777).toBe(0o700);
  expect((await readdir(directory)).toSorted()).toEqual(["gateway", "loop", "other"]);
});

verifies(
  "P-4.2/keys",
  "known secrets and secret patterns are redacted at any depth, ids and hashes are not",
  async () => {
    const { directory, logs } = await openLogs({ maxBytes: 100_000, maxFiles: 1 });
    const secret = "hunter2-hunter2-hunter2";
    const verdict = compileRedactor({ secrets: [{ name: "mine", value: secret }], emails: true, phones: true });
    if (!verdict.ok) throw new Error(verdict.reason);
    logs.use(() => LIMITS, verdict.redactor);
    const key = `sk-proj-${"a1B2".repeat(10)}`;
    const kept = { run_id: "run_01KAB3DEF4GHJ5KMN6PQR7STV8", sha256: "0123456789abcdef".repeat(4), port: 19789 };
    logs.write("gateway", "info", "deep", { a: { b: [{ c: `x ${secret} y`, d: key }] }, kept, address: "127.0.0.1" });
    await logs.flush();
    const text = await readFile(join(directory, "gateway", "gateway.jsonl"), "utf8");
    expect(text).not.toContain(secret);
    expect(text).not.toContain(key);
    expect(JSON.parse(text)).toMatchObject({ level: "info", event: "deep", kept, address: "127.0.0.1" });
  },
);

test("a log that cannot be written hurts nothing, and goes on when it can", async () => {
  const { directory, logs, read } = await openLogs();
  await writeFile(directory, "in the way");
  logs.write("gateway", "info", "lost", {});
  await logs.flush();
  const { logs: next, directory: free, read: readNext } = await openLogs();
  await mkdir(join(free, "gateway"), { recursive: true });
  await writeFile(join(free, "gateway", "gateway.jsonl"), "");
  await chmod(join(free, "gateway", "gateway.jsonl"), 0o600);
  next.write("gateway", "info", "kept", {});
  await next.flush();
  expect((await readNext()).map(({ event }) => event)).toEqual(["kept"]);
  await expect(read()).rejects.toMatchObject({ code: "ENOTDIR" });
});

test("more records than memory holds are dropped and counted", async () => {
  const { logs, read } = await openLogs({ maxBytes: 10_000_000, maxFiles: 1 });
  for (let at = 0; at < 10_005; at += 1) logs.write("gateway", "info", "tick", { at });
  await logs.flush();
  const records = await read();
  expect(records).toHaveLength(10_001);
  expect(records.at(-1)).toMatchObject({ event: "log.dropped", records: 5 });
});

test("a reader takes whole lines only, each once, also over a rotation", async () => {
  const { directory, logs } = await openLogs();
  const reader = new LogReader(directory);
  expect(await reader.next()).toEqual([]);
  logs.write("gateway", "info", "first", {});
  await logs.flush();
  const file = join(directory, "gateway", "gateway.jsonl");
  await appendFile(file, '{"level":"info","time":"2026-01-01T00:00:00.000Z","ev');
  expect((await reader.next()).map(({ event }) => event)).toEqual(["first"]);
  await appendFile(file, 'ent":"torn"}\nno record\n');
  expect((await reader.next()).map(({ event }) => event)).toEqual(["torn"]);
  for (let at = 0; at < 12; at += 1) logs.write("gateway", "info", `later-${at}`, {});
  await logs.flush();
  expect(await reader.next()).toHaveLength(12);
  expect(await reader.next()).toEqual([]);
});
