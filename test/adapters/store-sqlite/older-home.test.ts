/** Homes of earlier versions open unchanged. */
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { migrate } from "../../../src/adapters/store-sqlite/schema.ts";
import type { LedgerDraft } from "../../../src/kernel/journal/ledger.ts";
import { asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { StoredApproval } from "../../../src/runtime/ports/store.ts";
import { verifies } from "../../requirements.ts";
import { decides, newApproval, newBody, newSession, runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { temporaryHome } from "./temporary-home.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

verifies(
  "X-26/schema",
  "journals whose rows lay in the order of their runs are read and appended to as before",
  async () => {
    const runs = [runOfItsOwn(), runOfItsOwn()];
    const journals = runs.map(({ runId }) => new SampleJournal(runId));
    const bodies = runs.map(() => newBody("what was said"));
    const made = await temporary.open();
    for (const { writes } of runs) await made.commit(writes, "barrier");
    const appendAll = (store: typeof made, form: "append" | "appendLines") =>
      Promise.all(
        journals.map((journal, at) => {
          const append = { ...journal[form](3), bodies: bodies.slice(at, at + 1) };
          return store.commit([append], "barrier");
        }),
      );
    await appendAll(made, "appendLines");
    await appendAll(made, "appendLines");
    const readAll = (store: typeof made) =>
      Promise.all(runs.map(async ({ runId }) => [await store.readEntries(runId, 0, 100), await store.headOf(runId)]));
    const before = await readAll(made);
    await made.close();
    takeBack(databaseFile(temporary.home));

    const opened = await temporary.open();
    expect(await readAll(opened)).toEqual(before);
    for (const [at, { runId, sessionId }] of runs.entries()) {
      const { ref, salt, text } = bodies[at] as (typeof bodies)[number];
      expect(await opened.readBodies(sessionId, [ref], runId)).toEqual(new Map([[ref, { salt, text }]]));
    }
    await appendAll(opened, "append");
    for (const { runId, lines } of journals) expect(await opened.readEntries(runId, 0, 100)).toEqual(lines);
  },
);

test("decisions of an older home count if its ledger has them", async () => {
  const { runId, sessionId, writes } = runOfItsOwn();
  const [allowed, denied, forged, open] = [1, 2, 3, 4].map(() => newApproval(runId, sessionId));
  const doubt = newApproval(runId, sessionId, { kind: "resolve" });
  const all = [allowed, denied, forged, open, doubt] as const;
  const made = await temporary.open();
  const inserts = all.map((approval) => ({ type: "insert-approval", approval: approval as StoredApproval }) as const);
  await made.commit([...writes, ...inserts], "barrier");
  const decisions = [decides(all[0] as StoredApproval, "allow"), decides(all[1] as StoredApproval, "deny")];
  await made.commit(decisions, "barrier");
  const { data, ...draft } = decides(doubt, "retry").draft as LedgerDraft<"effect.resolved">;
  const { approvalId: _, ...older } = data;
  await made.commit([{ type: "append-ledger", draft: { ...draft, data: older } }], "barrier");
  await made.close();
  const db = new DatabaseSync(databaseFile(temporary.home));
  db.prepare("UPDATE approvals SET state = 'retry' WHERE id = ?").run(doubt.id);
  db.prepare("UPDATE approvals SET state = 'allowed' WHERE id = ?").run(forged?.id ?? "");
  db.exec(`ALTER TABLE approvals DROP COLUMN ledger_seq; ${WITHOUT_CONVERSATIONS} PRAGMA user_version = 4`);
  db.close();

  const opened = await temporary.open();
  const states = (await opened.approvalsOf(runId)).map(({ state }) => state);
  expect(states).toEqual(["allowed", "denied", "forged", "pending", "retry"]);
});

test("rows of an older home are recorded as they are, except acceptances that its ledger does not know", async () => {
  const sessionId = asSessionId("ses_of_anna");
  const key = "agent:main:crm:default:dm:anna";
  const at = "2026-11-15T00:00:00.000Z";
  const made = await temporary.open();
  const accepted = {
    kind: "pair.accepted",
    ts: at,
    actor: "operator",
    data: { channel: "crm", sender: "anna" },
  } as const;
  const checkpoint = { revision: 1, updatedAt: at, state: "{}", summary: null, condensedThrough: 0 };
  await made.commit(
    [
      newSession(sessionId, key),
      { type: "route-session", sessionId, at },
      { type: "write-checkpoint", sessionId, checkpoint },
      { type: "decide-pairing", draft: accepted },
    ],
    "barrier",
  );
  await made.close();
  const db = new DatabaseSync(databaseFile(temporary.home));
  // Version 8 had no records of rows.
  db.exec(`
    DELETE FROM ledger WHERE instr(line, '"kind":"row.recorded"') > 0;
    ${WITHOUT_RECORDS}
    INSERT INTO pairings (channel, sender_id, state, requested_at_ms, expires_at_ms) VALUES ('crm', 'eve', 'accepted', 0, 0);
    PRAGMA user_version = 8;
  `);
  db.close();

  const opened = await temporary.open();
  expect(await opened.findSessionByKey(key)).toMatchObject({ sessionId, isForged: false });
  expect(await opened.findCheckpoint(sessionId)).toEqual(checkpoint);
  expect((await opened.findPairing("crm", "anna"))?.state).toBe("accepted");
  expect((await opened.findPairing("crm", "eve"))?.state).toBe("forged");
});

/** What versions 9 to 20 added. */
const WITHOUT_RECORDS = `
  DROP TABLE memory_words; DROP TABLE memories; DROP TABLE memory_vectors; DROP TABLE memory_uses;
  DROP INDEX unarchived_runs; ALTER TABLE run_states DROP COLUMN archive;
  DROP TABLE archives; DROP TABLE archive_dictionaries;
  DROP TABLE ghosts; DROP TABLE erasures; ALTER TABLE run_states DROP COLUMN erased_at; ALTER TABLE sessions DROP COLUMN erased_at;
  DROP TABLE tokens; DROP TABLE browsers; DROP TABLE media; DROP TABLE secrets;
  DROP TABLE governance_runs; DROP TABLE governance_changes; DROP TABLE governance_tiers; DROP TABLE governance_place;
  DROP TABLE jobs; DROP TABLE job_slots; DROP TABLE schedule_pause;
  DROP INDEX granted_capabilities; DROP INDEX recorded_rows; DROP INDEX decided_approvals;
  ALTER TABLE approvals DROP COLUMN background_ref;`;
const LATER_COLUMNS = ["key", "channel", "sender_id", "title", "settings", "active_at", "runs"];
/** What version 7 made of the boxes. */
const WITHOUT_DELIVERY = `
  DROP TABLE pairings;
  DROP TABLE outbox;
  CREATE TABLE outbox (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL, channel TEXT NOT NULL,
    body_ref BLOB NOT NULL, created_at TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE TABLE older (
    channel TEXT NOT NULL, message_id TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (channel, message_id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO older SELECT channel, message_id, run FROM inbox WHERE state = 'run';
  DROP TABLE inbox;
  ALTER TABLE older RENAME TO inbox;`;
/** What version 6 added. */
const WITHOUT_CONVERSATIONS = `
  ${WITHOUT_RECORDS}
  ${WITHOUT_DELIVERY}
  DROP INDEX open_runs_by_session;
  DROP INDEX sessions_by_activity;
  DROP TABLE session_routes;
  DROP TABLE checkpoints;
  ALTER TABLE runs DROP COLUMN completed;
  DROP TABLE imports;
  DROP TABLE imported_turns;
  ALTER TABLE sessions DROP COLUMN imported_messages;
  ${LATER_COLUMNS.map((column) => `ALTER TABLE sessions DROP COLUMN ${column};`).join(" ")}`;

/** As version 3 had it. */
function takeBack(file: string): void {
  const db = new DatabaseSync(file);
  db.exec(`
    ALTER TABLE appends RENAME TO newer;
    CREATE TABLE appends (place INTEGER PRIMARY KEY, lines TEXT NOT NULL, bodies TEXT) STRICT;
    INSERT INTO appends SELECT place, lines, bodies FROM newer;
    DROP TABLE newer;
    ALTER TABLE approvals DROP COLUMN ledger_seq;
    ${WITHOUT_CONVERSATIONS}
    PRAGMA user_version = 3;
  `);
  db.close();
}

test("the released schema is byte for byte what it was: a change needs a migration", () => {
  const db = new DatabaseSync(":memory:");
  migrate(db, 0, "home_x");
  const schema = db.prepare("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").all();
  db.close();
  expect(createHash("sha256").update(JSON.stringify(schema)).digest("hex")).toBe(
    "5b6e06cb3c047425913892444b59c775e7b340137e6e74311fc6a92ec9171046",
  );
});
