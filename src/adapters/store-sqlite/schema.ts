/**
 * The tables, and how an older home becomes a current one.
 *
 * M1. `PRAGMA user_version` is the number of migrations a database has seen. They run in order, in one transaction;
 *     one that has been released is never edited.
 * M2. Nothing is rewritten as a run grows: `runs` holds what never changes, `run_states` the few bytes that do, and
 *     `appends` one row for what was appended together, in the order in which it was: what many runs append at once fills
 *     the same pages. `bodies` are those that others than their run look for.
 * M3. What a list shows is found by an index of exactly that list, and its total stands in `run_counts`: neither costs
 *     more with ten thousand ended runs than with ten.
 * M4. A status is a number by its place in RUN_STATUSES; what has ended comes last.
 */
import type { DatabaseSync } from "node:sqlite";
import { RUN_STATUSES, type RunStatus } from "../../runtime/ports/store.ts";

/** "sure", so that a database of somebody else's is not taken for ours. */
export const APPLICATION_ID = 0x73757265;

export const FIRST_ENDED_STATUS = statusNumber("completed");

export function statusNumber(status: RunStatus): number {
  return RUN_STATUSES.indexOf(status);
}

const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE sessions (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL, created_at TEXT NOT NULL
  ) STRICT;

  CREATE TABLE runs (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL, source TEXT NOT NULL,
    lane TEXT NOT NULL, parent_run_id TEXT, model TEXT NOT NULL, thinking_mode TEXT NOT NULL,
    contract_hash BLOB NOT NULL, contract TEXT NOT NULL, accepted TEXT NOT NULL, created_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE run_states (
    run INTEGER PRIMARY KEY, session INTEGER NOT NULL, status INTEGER NOT NULL, epoch INTEGER NOT NULL,
    outcome TEXT, reason TEXT, answer_ref BLOB, ended_at TEXT, tool_calls INTEGER, duration_ms INTEGER,
    integrity TEXT, confidentiality TEXT,
    head_hash BLOB, state_digest BLOB, cancelled_by TEXT
  ) STRICT;
  CREATE INDEX runs_by_status ON run_states (status, run);
  CREATE INDEX open_runs ON run_states (run) WHERE status < ${FIRST_ENDED_STATUS};
  CREATE INDEX ended_runs_by_session ON run_states (session, run) WHERE status >= ${FIRST_ENDED_STATUS};
  CREATE TABLE run_counts (status INTEGER PRIMARY KEY, total INTEGER NOT NULL) STRICT;
  INSERT INTO run_counts VALUES ${RUN_STATUSES.map((_, status) => `(${status}, 0)`).join(", ")};
  CREATE TABLE idempotency_keys (
    key_hash BLOB PRIMARY KEY, request_hash BLOB NOT NULL, run INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE inbox (
    channel TEXT NOT NULL, message_id TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (channel, message_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE appends (place INTEGER PRIMARY KEY, lines TEXT NOT NULL, bodies TEXT) STRICT;
  CREATE TABLE bodies (
    position INTEGER PRIMARY KEY, ref BLOB NOT NULL, session INTEGER NOT NULL, salt BLOB NOT NULL, text TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX bodies_by_session ON bodies (session, ref);

  CREATE TABLE approvals (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL, session_id TEXT NOT NULL,
    call_id TEXT NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL, tool TEXT NOT NULL, plan_ref BLOB NOT NULL,
    plan_hash BLOB NOT NULL, why TEXT NOT NULL, integrity TEXT NOT NULL, confidentiality TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL, state TEXT NOT NULL, decided_by TEXT,
    decided_at_ms INTEGER
  ) STRICT;
  CREATE INDEX approvals_by_run ON approvals (run);
  CREATE INDEX pending_approvals ON approvals (position) WHERE state = 'pending';

  CREATE TABLE capabilities (
    session INTEGER NOT NULL, capability TEXT NOT NULL, state TEXT NOT NULL, ledger_seq INTEGER NOT NULL,
    PRIMARY KEY (session, capability)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE capability_nonces (nonce TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

  CREATE TABLE spend_totals (
    period TEXT NOT NULL, scope TEXT NOT NULL, microusd INTEGER NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY (period, scope)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE reservations (
    run INTEGER NOT NULL, epoch INTEGER NOT NULL, attempt INTEGER NOT NULL, microusd INTEGER NOT NULL,
    tokens INTEGER NOT NULL, scopes TEXT, PRIMARY KEY (run, epoch, attempt)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE ledger (seq INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;

  CREATE TABLE outbox (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL, channel TEXT NOT NULL,
    body_ref BLOB NOT NULL, created_at TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX waiting_outbox ON outbox (position) WHERE state = 'waiting';

  CREATE TABLE send_slots (id BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX send_slots_by_time ON send_slots (at_ms);
  `,
  // What was said last about a capability is found without reading the ledger, which grows with every run.
  `
  CREATE INDEX capability_ledger ON ledger (line ->> '$.data.session_id', line ->> '$.data.capability')
    WHERE instr(line, '"kind":"capability.') > 0 AND json_valid(line);
  `,
  // What awaits an operator, over all sessions.
  `
  CREATE INDEX pending_capabilities ON capabilities (ledger_seq) WHERE state = 'pending';
  `,
  // Rows in the order of their runs, as they were, give every run at work pages of its own to be written with each commit.
  `
  ALTER TABLE appends RENAME TO appends_by_run;
  CREATE TABLE appends (
    position INTEGER PRIMARY KEY, place INTEGER NOT NULL, lines TEXT NOT NULL, bodies TEXT
  ) STRICT;
  INSERT INTO appends (place, lines, bodies) SELECT place, lines, bodies FROM appends_by_run ORDER BY place;
  DROP TABLE appends_by_run;
  CREATE UNIQUE INDEX appends_by_place ON appends (place);
  `,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Takes an empty or older database to the current version, or leaves it as it was. */
export function migrate(db: DatabaseSync, fromVersion: number, homeId: string): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const migration of MIGRATIONS.slice(fromVersion)) db.exec(migration);
    if (fromVersion === 0) db.prepare("INSERT INTO meta VALUES ('home_id', ?)").run(homeId);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
