/**
 * Sessions: table, rows, reads and writes. `session_routes` says which session a key leads to; `checkpoints` holds what a
 * session remembers beside its messages, one row that is replaced whole. When a checkpoint may be written:
 * src/runtime/checkpoint/checkpoint-rules.ts. The ledger vouches for all three (recorded-rows.ts).
 */
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { checkWriteCheckpoint } from "../../runtime/checkpoint/checkpoint-rules.ts";
import type { Page } from "../../runtime/ports/store.ts";
import type {
  SessionFilter,
  SessionSettings,
  StoredCheckpoint,
  StoredSession,
} from "../../runtime/ports/stored-session.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import { checkUseSession } from "../../runtime/sessions/session-rules.ts";
import type { Prepare, Tables } from "./connection.ts";
import { isAsRecorded, record } from "./recorded-rows.ts";
import { FIRST_ENDED_STATUS } from "./runs.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const SESSION_TABLES: Tables = {
  6: `
  ALTER TABLE sessions ADD COLUMN key TEXT NOT NULL DEFAULT '';
  ALTER TABLE sessions ADD COLUMN channel TEXT NOT NULL DEFAULT 'http';
  ALTER TABLE sessions ADD COLUMN sender_id TEXT NOT NULL DEFAULT 'operator';
  ALTER TABLE sessions ADD COLUMN title TEXT;
  ALTER TABLE sessions ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
  ALTER TABLE sessions ADD COLUMN active_at TEXT NOT NULL DEFAULT '';
  ALTER TABLE sessions ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
  UPDATE sessions SET key = 'agent:' || agent_id || ':http:default:run:' || id, active_at = created_at,
    runs = (SELECT count(*) FROM run_states WHERE session = sessions.position);
  CREATE INDEX sessions_by_activity ON sessions (active_at, position);
  CREATE TABLE session_routes (key TEXT PRIMARY KEY, session INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE checkpoints (
    session INTEGER PRIMARY KEY, revision INTEGER NOT NULL, updated_at TEXT NOT NULL, state TEXT NOT NULL, summary TEXT,
    condensed_through INTEGER NOT NULL
  ) STRICT;`,
};

const SELECT = `
  SELECT id AS sessionId, agent_id AS agentId, key, channel, sender_id AS senderId, created_at AS createdAt, title,
    settings, active_at AS activeAt, runs, imported_messages AS importedMessages,
    erased_at AS erasedAt, (SELECT count(*) FROM run_states o JOIN runs r ON r.position = o.run
      WHERE o.session = sessions.position AND o.status < ${FIRST_ENDED_STATUS} AND r.source <> '${COMPACTION_SOURCE}') AS openRuns
  FROM sessions`;
const SELECT_CHECKPOINT = `
  SELECT c.revision, c.updated_at AS updatedAt, c.state, c.summary, c.condensed_through AS condensedThrough
  FROM checkpoints c JOIN sessions s ON s.position = c.session WHERE s.id = ?`;
const INSERT = `
  INSERT INTO sessions (id, agent_id, key, channel, sender_id, created_at, active_at) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
const ROUTE = `
  INSERT INTO session_routes (key, session) SELECT key, position FROM sessions WHERE position = ?
  ON CONFLICT DO UPDATE SET session = excluded.session RETURNING key`;
const PUT_CHECKPOINT = `
  INSERT INTO checkpoints (session, revision, updated_at, state, summary, condensed_through) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET revision = excluded.revision, updated_at = excluded.updated_at, state = excluded.state,
    summary = excluded.summary, condensed_through = excluded.condensed_through`;

/** By the filter's fields; `?` gets their values in the same order. */
const CONDITIONS = {
  agentId: "agent_id = ?",
  channel: "channel = ?",
  senderId: "sender_id = ?",
  roomId: "(key LIKE '%:room:' || ? OR key LIKE '%:group:' || ?)",
  text: "instr(lower(coalesce(title, '') || char(10) || sender_id || char(10) || channel || char(10) || key), lower(?)) > 0",
  owner: "channel = ? AND sender_id = ? AND key LIKE 'agent:%:%:%:dm:%'",
} as const satisfies Record<keyof SessionFilter, string>;

export const SESSION_LISTS = {
  listSessions(prepare: Prepare, filter: SessionFilter, { limit, offset }: Page) {
    const { conditions, values } = whereOf(filter);
    const rows = prepare(`${SELECT}${conditions} ORDER BY active_at DESC, position DESC LIMIT ? OFFSET ?`);
    const total = prepare(`SELECT count(*) AS total FROM sessions${conditions}`).get(...values)?.["total"];
    const listed = rows.all(...values, limit, offset).map(toSession);
    const sessions = listed.map((session) => ({ ...session, isForged: isForged(prepare, session.sessionId) }));
    return { sessions, total: Number(total) };
  },
};

function whereOf(filter: SessionFilter): { readonly conditions: string; readonly values: readonly string[] } {
  const fields = (Object.keys(CONDITIONS) as (keyof SessionFilter)[]).filter((field) => filter[field] !== undefined);
  const values = fields.flatMap((field) => {
    const value = filter[field] ?? "";
    if (typeof value === "object") return [value.channel, value.senderId];
    return field === "roomId" ? [value, value] : [value];
  });
  // One that was forgotten is listed nowhere: it has nothing to show.
  return {
    conditions: ` WHERE ${["erased_at IS NULL", ...fields.map((field) => CONDITIONS[field])].join(" AND ")}`,
    values,
  };
}

export const SESSION_WRITES: WriteHandlers<"insert-session" | "route-session" | "change-session" | "write-checkpoint"> =
  {
    "insert-session"(transaction, { session: { sessionId, agentId, key, channel, senderId, createdAt } }) {
      const insert = transaction.prepare(INSERT);
      const { changes } = insert.run(sessionId, agentId, key, channel, senderId, createdAt, createdAt);
      if (changes > 0) record(transaction, createdAt, "sessions", sessionId);
    },

    "route-session"(transaction, { sessionId, at }) {
      const { prepare, heads } = transaction;
      const session = heads.session(sessionId);
      if (!mayWrite(checkUseSession(isForged(prepare, sessionId)))) return;
      const routed = prepare(ROUTE).get(session);
      record(transaction, at, "session_routes", String(routed?.["key"]));
    },

    "change-session"(transaction, { sessionId, title, settings, at }) {
      const { prepare, heads } = transaction;
      const session = heads.session(sessionId);
      if (!mayWrite(checkUseSession(isForged(prepare, sessionId)))) return;
      const change = prepare("UPDATE sessions SET title = ?, settings = ? WHERE position = ?");
      change.run(title, JSON.stringify(settings), session);
      record(transaction, at, "sessions", sessionId);
    },

    "write-checkpoint"(transaction, { sessionId, checkpoint }) {
      const { prepare, heads } = transaction;
      const session = heads.session(sessionId);
      const stored = findCheckpoint(prepare, sessionId);
      if (!mayWrite(checkWriteCheckpoint(stored === "forged" ? null : stored, checkpoint))) return;
      const { revision, updatedAt, state, summary, condensedThrough } = checkpoint;
      prepare(PUT_CHECKPOINT).run(session, revision, updatedAt, state, summary, condensedThrough);
      record(transaction, updatedAt, "checkpoints", sessionId);
    },
  };

export function findSession(prepare: Prepare, sessionId: SessionId): StoredSession | null {
  const row = prepare(`${SELECT} WHERE id = ?`).get(sessionId);
  return row === undefined ? null : { ...toSession(row), isForged: isForged(prepare, sessionId) };
}

function isForged(prepare: Prepare, sessionId: SessionId): boolean {
  return !isAsRecorded(prepare, "sessions", sessionId);
}

export function findSessionByKey(prepare: Prepare, key: string): StoredSession | null {
  const row = prepare(`${SELECT} WHERE position = (SELECT session FROM session_routes WHERE key = ?)`).get(key);
  if (row === undefined) return null;
  const session = toSession(row);
  const isRouted = session.key === key && isAsRecorded(prepare, "session_routes", key);
  return { ...session, isForged: !isRouted || isForged(prepare, session.sessionId) };
}

export function findCheckpoint(prepare: Prepare, sessionId: SessionId): StoredCheckpoint | "forged" | null {
  const row = prepare(SELECT_CHECKPOINT).get(sessionId);
  if (row === undefined) return null;
  return isAsRecorded(prepare, "checkpoints", sessionId) ? ({ ...row } as unknown as StoredCheckpoint) : "forged";
}

function toSession(row: object): Omit<StoredSession, "isForged"> {
  const { settings, erasedAt, ...rest } = row as Omit<StoredSession, "settings" | "isForged" | "erasedAt"> & {
    readonly settings: string;
    readonly erasedAt: string | null;
  };
  return {
    ...rest,
    settings: JSON.parse(settings) as SessionSettings,
    ...(erasedAt === null ? {} : { erasedAt }),
  };
}
