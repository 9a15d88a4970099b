/**
 * The schema: each subject's tables, applied in one place, and the upgrade of an older home.
 *
 * M1. `PRAGMA user_version` is the number of migrations a database has seen. They run in order, in one transaction; a
 *     released one is never edited (a test compares the resulting schema).
 * M2. Nothing is rewritten as a run grows.
 * M3. Every list has an index of exactly its rows, and totals are counted in `run_counts`: neither costs more with ten
 *     thousand ended runs than with ten.
 */
import type { DatabaseSync } from "node:sqlite";
import { ACCESS_TABLES } from "./access.ts";
import { APPROVAL_TABLES } from "./approvals.ts";
import { ARCHIVE_TABLES } from "./archives.ts";
import { CAPABILITY_TABLES } from "./capabilities.ts";
import { preparing, type Tables } from "./connection.ts";
import { ERASURE_TABLES } from "./erasures.ts";
import { GHOST_TABLES } from "./ghosts.ts";
import { GOVERNANCE_TABLES } from "./governance.ts";
import { IMPORT_TABLES } from "./imports.ts";
import { JOB_TABLES } from "./jobs.ts";
import { JOURNAL_TABLES } from "./journal.ts";
import { LEDGER_TABLES, LedgerAppender } from "./ledger.ts";
import { MEDIA_TABLES } from "./media.ts";
import { MEMORY_TABLES } from "./memories.ts";
import { OUTBOX_TABLES } from "./outbox.ts";
import { PAIRING_TABLES } from "./pairings.ts";
import { RECORDED_ROW_TABLES, recordEarlierRows } from "./recorded-rows.ts";
import { RUN_TABLES } from "./runs.ts";
import { SECRET_TABLES } from "./secrets.ts";
import { SEND_SLOT_TABLES } from "./send-slots.ts";
import { SESSION_TABLES } from "./sessions.ts";
import { SPEND_TABLES } from "./spend.ts";

/** "sure" in ASCII: tells our databases from others. */
export const APPLICATION_ID = 0x73757265;

export const SCHEMA_VERSION = 20;

const META_TABLES: Tables = {
  1: "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
};

/** In the order in which their tables are made. */
const SUBJECTS: readonly Tables[] = [
  META_TABLES,
  RUN_TABLES,
  JOURNAL_TABLES,
  APPROVAL_TABLES,
  CAPABILITY_TABLES,
  SPEND_TABLES,
  LEDGER_TABLES,
  OUTBOX_TABLES,
  SEND_SLOT_TABLES,
  SESSION_TABLES,
  PAIRING_TABLES,
  IMPORT_TABLES,
  MEDIA_TABLES,
  SECRET_TABLES,
  RECORDED_ROW_TABLES,
  ACCESS_TABLES,
  GHOST_TABLES,
  ERASURE_TABLES,
  GOVERNANCE_TABLES,
  JOB_TABLES,
  MEMORY_TABLES,
  ARCHIVE_TABLES,
];

const FIRST_WITH_RECORDS = 9;
/** Earlier ones left what they deleted in the file (writer-worker.ts). */
const FIRST_OVERWRITING = 16;

function recordEarlier(db: DatabaseSync): void {
  const prepare = preparing(db);
  const homeId = String(prepare("SELECT value FROM meta WHERE name = 'home_id'").get()?.["value"]);
  recordEarlierRows(prepare, new LedgerAppender(prepare, homeId).append);
}

/** Takes an empty or older database to the current version, or leaves it unchanged. */
export function migrate(db: DatabaseSync, fromVersion: number, homeId: string): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    for (let version = fromVersion + 1; version <= SCHEMA_VERSION; version += 1) {
      for (const tables of SUBJECTS) db.exec(tables[version] ?? "");
    }
    if (fromVersion === 0) db.prepare("INSERT INTO meta VALUES ('home_id', ?)").run(homeId);
    else if (fromVersion < FIRST_WITH_RECORDS) recordEarlier(db);
    if (fromVersion > 0 && fromVersion < FIRST_OVERWRITING) db.exec("INSERT INTO meta VALUES ('has_remains', '1')");
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
