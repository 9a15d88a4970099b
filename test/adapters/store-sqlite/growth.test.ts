/** What a home costs must not grow with what it holds: bytes per step, and the rows a list has to walk over. */
import { statSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectReader, databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { LIST_QUERIES } from "../../../src/adapters/store-sqlite/list-reads.ts";
import { hashOf, newBody, runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

test("a step late in a run takes no more bytes than an early one", async () => {
  const { runId, sessionId, writes } = runOfItsOwn();
  const journal = new SampleJournal(runId);
  const store = await temporary.open();
  await store.commit(writes, "barrier");
  await store.close();
  const sizes: number[] = [];
  for (let block = 0; block < 3; block += 1) {
    const store = await temporary.open();
    const steps = Array.from({ length: 200 }, () =>
      store.commit(
        [journal.append(5), { type: "put-bodies", sessionId, bodies: [newBody("y".repeat(300))] }],
        "barrier",
      ),
    );
    await Promise.all(steps);
    await store.close();
    sizes.push(statSync(databaseFile(temporary.home)).size);
  }
  const [first = 0, second = 0, third = 0] = sizes;
  expect((third - second) / (second - first)).toBeLessThan(1.1);
});

/** By a key, along an index of nothing but what is shown, or from the newest run on; never sorted afterwards. */
const WAYS = [
  /^SEARCH .* USING /,
  /^SCAN . USING (COVERING )?INDEX (pending_approvals|pending_capabilities|waiting_outbox|open_runs)/,
  // Every row is shown.
  /^SCAN c$/,
  /^SCAN run_states$/,
  /SUBQUERY/,
];

test("places among unasked sends are kept for their hour and a day, not for ever", async () => {
  const store = await temporary.open();
  const HOUR_MS = 3_600_000;
  for (let hour = 1; hour <= 60; hour += 1) {
    const atMs = hour * HOUR_MS;
    const ids = [hashOf(`${hour} a`), hashOf(`${hour} b`)];
    for (const id of ids) {
      await store.commit([{ type: "take-send-slot", id, atMs, sinceMs: atMs - HOUR_MS, limit: 2 }], "barrier");
    }
  }
  await store.close();
  const db = connectReader(databaseFile(temporary.home));
  expect({ ...db.prepare("SELECT count(*) AS places FROM send_slots").get() }).toEqual({ places: 2 * 25 });
  db.close();
});

test("no list walks over rows it does not show", async () => {
  await (await temporary.open()).close();
  const db = connectReader(databaseFile(temporary.home));
  for (const query of Object.values(LIST_QUERIES)) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${query}`).all();
    const detours = plan.map((row) => String(row["detail"])).filter((step) => !WAYS.some((way) => way.test(step)));
    expect([query, detours]).toEqual([query, []]);
  }
  db.close();
});
