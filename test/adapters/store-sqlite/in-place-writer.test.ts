/** Commits on the main thread, beside those of the writer thread. */
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { InPlaceWriter } from "../../../src/adapters/store-sqlite/in-place-writer.ts";
import { openWriting } from "../../../src/adapters/store-sqlite/open-writing.ts";
import { pack } from "../../../src/adapters/store-sqlite/packed-writes.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import type { Clock } from "../../../src/runtime/ports/clock.ts";
import { newBody, runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

function setupOf(homeId: string, maxPages: number | null = null) {
  return { file: databaseFile(temporary.home), homeId, busyTimeoutMs: 1000, maxPages };
}

/** A disk that syncs in no time, whatever else this machine does. */
const QUICK: Clock = { ...systemClock, monotonicMs: () => 0 };

function openInPlace(homeId: string, { clock = QUICK, maxPages = null }: Partial<Options> = {}): InPlaceWriter {
  const writer = new InPlaceWriter(setupOf(homeId, maxPages), clock);
  onTestFinished(() => writer.close());
  return writer;
}

interface Options {
  readonly clock: Clock;
  readonly maxPages: number | null;
}

test("two connections that write in turn know of each other's claims and appends", async () => {
  const { homeId } = await temporary.open();
  const [one, other] = [openWriting(setupOf(homeId)), openWriting(setupOf(homeId))];
  const { runId, writes } = runOfItsOwn();
  const journal = new SampleJournal(runId);
  expect(one.group.commit([pack(writes)]).refused).toEqual([]);
  expect(other.group.commit([pack([journal.append(1)])]).refused).toEqual([]);
  expect(one.group.commit([pack([journal.append(2)])]).refused).toEqual([]);
  expect(other.group.commit([pack([{ type: "claim-run", runId, epoch: 1 }])]).refused).toEqual([]);
  const stale = one.group.commit([pack([journal.append(1)])]);
  expect(stale.refused).toMatchObject([{ failure: { code: "store.fenced" } }]);
  one.db.close();
  other.db.close();
});

test("while somebody else holds the database it is the thread's turn; afterwards it works", async () => {
  const store = await temporary.open();
  const here = openInPlace(store.homeId);
  const { runId, writes } = runOfItsOwn();
  const somebody = new DatabaseSync(databaseFile(temporary.home));
  somebody.exec("BEGIN IMMEDIATE");
  expect(here.commit([pack(writes)])).toBeNull();
  somebody.exec("ROLLBACK");
  somebody.close();
  expect(here.commit([pack(writes)])).toMatchObject({ commits: 1, refused: [] });
  expect((await store.findRun(runId))?.status).toBe("queued");
});

test("a commit that took long leaves the next ones to the thread, for a while", async () => {
  const { homeId } = await temporary.open();
  const ticks = [0, 6];
  const here = openInPlace(homeId, { clock: { ...systemClock, monotonicMs: () => ticks.shift() ?? 0 } });
  expect(here.commit([pack(runOfItsOwn().writes)])).toMatchObject({ refused: [] });
  for (let batch = 0; batch < 200; batch += 1) expect(here.commit([pack(runOfItsOwn().writes)])).toBeNull();
  expect(here.commit([pack(runOfItsOwn().writes)])).toMatchObject({ refused: [] });
});

test("a refused commit is told of by name; a disk that is full is thrown", async () => {
  const { homeId } = await temporary.open();
  const here = openInPlace(homeId, { maxPages: 200 });
  const { runId, sessionId, writes } = runOfItsOwn();
  expect(here.commit([pack(writes)])).toMatchObject({ refused: [] });
  const stranger = new SampleJournal(runId).append(1, 7);
  expect(here.commit([pack([stranger])])).toMatchObject({ refused: [{ failure: { code: "store.fenced" } }] });
  const bodies = [newBody("x".repeat(1_000_000))];
  expect(() => here.commit([pack([{ type: "put-bodies", sessionId, bodies }])])).toThrow();
});
