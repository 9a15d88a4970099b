/** Retention and quota, on a real home: what is old or too much is forgotten, and every chain verifies. */
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, vi } from "vitest";
import type { Config } from "../../src/boot/config/config.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { openHome } from "../../src/boot/home.ts";
import { main } from "../../src/boot/main.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import type { RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import type { Clock } from "../../src/runtime/ports/clock.ts";
import { startGateway, TOKEN } from "../faults/gateway-process.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryHome } from "./temporary-home.ts";

const DAY_MS = 86_400_000;
const WAIT = { timeout: 30_000, interval: 50 };
const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));

async function openAged(retention: Config["retention"]) {
  const home = await temporaryHome();
  await openHome(home);
  const defects: unknown[] = [];
  let agoMs = 0;
  const hours: (() => void)[] = [];
  // An hour passes when the test says so.
  const clock: Clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() - agoMs,
    wake: (delayMs, callback) => {
      if (delayMs < 60_000) return systemClock.wake(delayMs, callback);
      if (delayMs === 60_000) hours.push(callback);
      return () => {};
    },
  };
  const surety = await openSurety({
    ...{ home, clock, random: systemRandomness, token: null, approver: noApprover },
    config: { ...DEFAULT_CONFIG, retention },
    readVariable: () => undefined,
    onDefect: (_id, error) => defects.push(error),
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await surety.close(1_000);
    isOpen = false;
  };
  onTestFinished(close);
  const { operations } = surety;
  const run = async (message: string, daysAgo: number): Promise<RunId> => {
    agoMs = daysAgo * DAY_MS;
    const created = await operations.call("runs.create", { agent_id: "main", message });
    if (!created.ok) throw new Error(created.message);
    const { id } = created.value;
    const subscribed = await operations.subscribe("runs.events", { id }, null, new AbortController().signal);
    for await (const _ of subscribed.ok ? subscribed.updates : []);
    agoMs = 0;
    return id;
  };
  const erasedAt = async (id: RunId): Promise<string | undefined> => {
    const record = await operations.call("runs.get", { id });
    return record.ok ? record.value.erased_at : undefined;
  };
  const verify = async () => {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, "verify", "--home"], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const passes = (): void => {
    for (const callback of hours.splice(0)) callback();
  };
  return { home, surety, operations, run, erasedAt, verify, passes, defects, close };
}

verifies("X-26/retention", "a conversation of an age is forgotten with its files, and a later one stays", async () => {
  const { home, surety, run, erasedAt, verify, passes, defects, close } = await openAged({
    maxAgeDays: 30,
    minFreeBytes: 0,
  });
  const old = await run("list files, long ago", 40);
  const recent = await run("list files, lately", 20);
  const runs = join(home.agentsDirectory, "main", "runs");
  await vi.waitFor(async () => expect((await readdir(runs)).toSorted()).toEqual([old, recent].toSorted()), WAIT);
  passes();
  await vi.waitFor(async () => expect(await erasedAt(old)).toBeDefined(), WAIT);
  await vi.waitFor(async () => expect(await readdir(runs)).toEqual([recent]), WAIT);
  expect(await erasedAt(recent)).toBeUndefined();
  const days = (): Promise<readonly string[]> => readdir(join(home.agentsDirectory, "main", "audit"));
  await vi.waitFor(async () => expect(await days()).toHaveLength(1), WAIT);
  const ledger = await surety.store.readLedger(0, 1_000);
  const erased = ledger.filter(({ kind }) => kind === "body.erased");
  expect(erased.map(({ actor }) => actor)).toEqual(erased.map(() => "retention"));
  expect(erased.length).toBeGreaterThan(0);
  await close();
  expect(await verify()).toMatchObject({ code: 0 });
  expect(defects).toEqual([]);
});

verifies("X-26/retention", "the oldest conversations are forgotten where the home takes too much", async () => {
  const { run, erasedAt, verify, passes, close } = await openAged({ maxBytes: 1, minFreeBytes: 0 });
  const ids = [await run("list files of one", 2), await run("list files of two", 1)];
  passes();
  for (const id of ids) await vi.waitFor(async () => expect(await erasedAt(id)).toBeDefined(), WAIT);
  await close();
  expect(await verify()).toMatchObject({ code: 0 });
});

verifies(
  "X-26/quota",
  "a home over its quota, on a disk that is low, says so at the start and in its status",
  async () => {
    const home = await temporaryHome();
    await openHome(home);
    await writeFile(home.configFile, JSON.stringify({ retention: { quotaBytes: 1_000, minFreeBytes: 2 ** 50 } }));
    const gateway = await startGateway([process.execPath, ENTRY, "start", "--home", home.directory, "--port", "0"]);
    onTestFinished(() => gateway.kill().then(() => {}));
    const status = await gateway.ask("GET", "/api/admin/status", undefined, { authorization: `Bearer ${TOKEN}` });
    const { attention = [] } = (status?.body ?? {}) as { attention?: readonly { code: string; message: string }[] };
    const codes = attention.map(({ code }) => code);
    expect(codes).toContain("quota.exceeded");
    expect(codes).toContain("disk.low");
    await vi.waitFor(
      () => expect(gateway.stderr.join("\n")).toContain("warning disk.low: The disk of the home has"),
      WAIT,
    );
    expect(gateway.stderr.join("\n")).toContain("warning quota.exceeded: The home takes");
    expect((await stat(home.database)).size).toBeGreaterThan(1_000);
  },
);
