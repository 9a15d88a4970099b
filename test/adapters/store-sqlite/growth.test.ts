/** Costs must not grow with what a home holds: bytes per step, and the rows a list reads. */
import { statSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { APPROVAL_QUERIES } from "../../../src/adapters/store-sqlite/approvals.ts";
import { CAPABILITY_QUERIES } from "../../../src/adapters/store-sqlite/capabilities.ts";
import { connectReader, databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { JOB_QUERIES } from "../../../src/adapters/store-sqlite/jobs.ts";
import { LEDGER_QUERIES } from "../../../src/adapters/store-sqlite/ledger.ts";
import { OUTBOX_QUERIES } from "../../../src/adapters/store-sqlite/outbox.ts";
import { PAIRING_QUERIES } from "../../../src/adapters/store-sqlite/pairings.ts";
import { fittingQuery, RUN_QUERIES } from "../../../src/adapters/store-sqlite/runs.ts";
import { SPEND_QUERIES } from "../../../src/adapters/store-sqlite/spend.ts";
import { asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
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

/** By a key, along an index of exactly the rows shown, or from the newest run on; never sorted afterwards. */
const ALLOWED = [
  /^SEARCH .* USING /,
  /^SCAN job_slots USING INDEX job_slots_by_time$/,
  /^SCAN . USING (COVERING )?INDEX (pending_approvals|decided_approvals|(?:pending|granted)_capabilities|open_outbox|open_runs)/,
  // Every row is shown.
  /^SCAN (a|c|o|pairings)$/,
  /^SCAN run_states$/,
  /SUBQUERY/,
];

test("send slots are deleted a day after they stop counting", async () => {
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
  expect({ ...db.prepare("SELECT count(*) AS slots FROM send_slots").get() }).toEqual({ slots: 2 * 25 });
  db.close();
});

test("no list reads rows that it does not show", async () => {
  await (await temporary.open()).close();
  const db = connectReader(databaseFile(temporary.home));
  const { pending, granted, all } = CAPABILITY_QUERIES;
  const subjects = [
    RUN_QUERIES,
    APPROVAL_QUERIES,
    { pending, granted, all },
    SPEND_QUERIES,
    OUTBOX_QUERIES,
    PAIRING_QUERIES,
    LEDGER_QUERIES,
    JOB_QUERIES,
  ];
  for (const query of subjects.flatMap((queries) => Object.values<string>(queries))) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${query}`).all();
    const scans = plan.map((row) => String(row["detail"])).filter((step) => !ALLOWED.some((plan) => plan.test(step)));
    expect([query, scans]).toEqual([query, []]);
  }
  db.close();
});

test("runs of one session are found by its indexes, whatever else is asked of them", async () => {
  await (await temporary.open()).close();
  const db = connectReader(databaseFile(temporary.home));
  const filter = { sessionId: asSessionId("session_1"), agentId: "main", text: "words" };
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${fittingQuery(filter)}`).all();
  const steps = plan.map((row) => String(row["detail"]));
  expect(steps.filter((step) => /^SCAN (s|r|run_states|runs)\b/.test(step))).toEqual([]);
  expect(steps.filter((step) => /(ended|open)_runs_by_session/.test(step))).toHaveLength(2);
  db.close();
});
