/** Ended runs in compressed form: whatever reads them gets the same bytes, and the database is smaller. */
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { ResultOf } from "../../src/assistant/operations.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { openHome } from "../../src/boot/home.ts";
import { main } from "../../src/boot/main.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { canonicalJson } from "../../src/kernel/vocabulary/canonical-json.ts";
import { hashBytes } from "../../src/kernel/vocabulary/hash.ts";
import { asRunId, type RunId, type SessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryHome } from "./temporary-home.ts";

const RUNS = 24;
const LATER = "2999-01-01T00:00:00.000Z";
const MOST = 20;

async function openEndedRuns() {
  const home = await temporaryHome();
  await openHome(home);
  const defects: unknown[] = [];
  const surety = await openSurety({
    ...{
      home,
      config: DEFAULT_CONFIG,
      clock: systemClock,
      random: systemRandomness,
      token: null,
      approver: noApprover,
    },
    readVariable: () => undefined,
    onDefect: (_id, error) => defects.push(error),
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await surety.close(1_000);
    isOpen = false;
  };
  onTestFinished(close);
  const { operations, store } = surety;
  const runs: RunId[] = [];
  let session: { readonly session_id?: SessionId } = {};
  for (let number = 1; number <= RUNS; number += 1) {
    // Three are turns of one conversation: their prompts were completed later.
    const input = { agent_id: "main", message: `list files of task-${number}`, ...(number <= 3 ? session : {}) };
    const created: ResultOf<"runs.create"> = await operations.call("runs.create", input);
    if (!created.ok) throw new Error(created.message);
    const { id, session_id } = created.value;
    session = { session_id };
    const subscribed = await operations.subscribe("runs.events", { id }, null, new AbortController().signal);
    for await (const _ of subscribed.ok ? subscribed.updates : []);
    runs.push(asRunId(id));
  }
  /** A hash of everything that is read of a run. */
  const readAll = async (): Promise<readonly string[]> => {
    const read = await Promise.all(
      runs.map(async (runId) => [
        await store.findRun(runId),
        await store.readEntries(runId, 0, 1_000),
        await store.readEntries(runId, 3, 2),
        await store.headOf(runId),
        await operations.call("runs.get", { id: runId }),
        await operations.call("runs.bundle", { id: runId }),
        await operations.call("runs.manifest", { id: runId }),
      ]),
    );
    const found = await store.listRuns({ text: "task-7", limit: 5, offset: 0 });
    const pages = await store.listRuns({ limit: 50, offset: 0 });
    expect([found.total, pages.total]).toEqual([1, RUNS]);
    return [...read.flat(), found, pages].map((each) => hashBytes(canonicalJson(JSON.parse(JSON.stringify(each)))));
  };
  const archive = async (): Promise<void> => {
    while (await store.archive(LATER, MOST));
  };
  const surely = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  return { ...{ home, surety, store, operations, runs, defects, close, surely }, readAll, archive };
}

function usedPages(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true });
  const number = (name: string): number => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
  const used = number("page_count") - number("freelist_count");
  db.close();
  return used;
}

verifies("X-26/archive", "archived runs are read and verified byte for byte, and may be forgotten", async () => {
  const { home, operations, runs, defects, readAll, archive, close, surely } = await openEndedRuns();
  const before = await readAll();
  const pages = usedPages(home.database);
  await archive();
  expect(await readAll()).toEqual(before);
  expect(usedPages(home.database)).toBeLessThan(pages);
  expect(await surely("verify", "--home")).toMatchObject({ code: 0 });
  const [first, second] = runs;
  const forgotten = await operations.call("runs.forget", { id: first as RunId });
  expect(forgotten).toMatchObject({ ok: true, value: { runs: [first], is_complete: true } });
  const { entries, ...left } = (await operations.call("runs.entries", { id: first as RunId })) as never as {
    entries: unknown;
    ok: boolean;
    value: { bodies: object; erased: readonly string[] };
  };
  expect([left.ok, Object.keys(left.value.bodies), left.value.erased.length > 0]).toEqual([true, [], true]);
  expect(entries).toBeUndefined();
  expect((await surely("verify", String(first))).stdout).toContain("erased");
  expect((await surely("verify", String(second))).stdout).not.toContain("erased");
  await close();
  expect(await surely("verify", "--home")).toMatchObject({ code: 0 });
  expect(defects).toEqual([]);
});

test("nothing is archived before there are enough runs for a dictionary, or before they are due", async () => {
  const { store, readAll } = await openEndedRuns();
  const before = await readAll();
  expect(await store.archive("2000-01-01T00:00:00.000Z", MOST)).toBe(false);
  expect(await store.archive(LATER, 5)).toBe(false);
  expect(await readAll()).toEqual(before);
});
