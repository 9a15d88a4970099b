/** Runs: tables, rows and reads. Their writes: run-writes.ts. The table of sessions was first made here; see sessions.ts. */
import { asRunId, type Hash, type RunId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import {
  type Page,
  type PlacedRun,
  RUN_STATUSES,
  type RunEnding,
  type RunFilter,
  type RunStatus,
  type Store,
  type StoredRun,
} from "../../runtime/ports/store.ts";
import type { RunRange } from "../../runtime/ports/stored-session.ts";
import { archivedTerms, IN_ARCHIVE } from "./archives.ts";
import { type Prepare, type Tables, toBytes, toHex } from "./connection.ts";

/** A status is stored as its index in RUN_STATUSES, where those of ended runs come last. */
export const FIRST_ENDED_STATUS = statusNumber("completed");

export function statusNumber(status: RunStatus): number {
  return RUN_STATUSES.indexOf(status);
}

export function statusOf(number: number): RunStatus {
  return RUN_STATUSES[number] ?? "failed";
}

/** `runs` holds what never changes, `run_states` the few bytes that do, `run_counts` the total of each status. */
export const RUN_TABLES: Tables = {
  1: `
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
  ) STRICT, WITHOUT ROWID;`,
  6: `
  ALTER TABLE runs ADD COLUMN completed TEXT;
  CREATE INDEX open_runs_by_session ON run_states (session, run) WHERE status < ${FIRST_ENDED_STATUS};`,
};

/** `s` are the states, `r` the runs. */
const SELECT = `
  SELECT r.position, r.id AS runId, r.agent_id AS agentId, n.id AS sessionId, r.source, r.lane,
    r.parent_run_id AS parentRunId, r.model, r.thinking_mode AS thinkingMode, r.contract_hash AS contractHash,
    r.contract, coalesce(r.completed, r.accepted) AS accepted,
    iif(r.completed IS NULL, NULL, r.accepted) AS acceptedAtFirst, r.created_at AS createdAt, s.status, s.epoch, s.outcome, s.reason,
    s.answer_ref AS answerRef, s.ended_at AS endedAt, s.cancelled_by AS cancelledBy, s.tool_calls AS toolCalls,
    s.duration_ms AS durationMs, s.head_hash AS headHash, s.state_digest AS stateDigest, s.integrity, s.confidentiality,
    s.erased_at AS erasedAt
  FROM run_states s JOIN runs r ON r.position = s.run JOIN sessions n ON n.position = s.session`;

/** Each condition lets SQLite choose an index; a test checks that it does. */
export const RUN_QUERIES = {
  openRuns: `${SELECT} WHERE s.status < ${FIRST_ENDED_STATUS} AND s.run > ? ORDER BY s.run LIMIT ?`,
  runsAfter: `${SELECT} WHERE s.run > ? ORDER BY s.run LIMIT ?`,
  // The inner query skips pages within the index, without reading the runs.
  allRuns: `
    ${SELECT} WHERE s.run IN (SELECT run FROM run_states ORDER BY run DESC LIMIT ? OFFSET ?) ORDER BY s.run DESC`,
  runsByStatus: `
    ${SELECT} WHERE s.run IN (SELECT run FROM run_states WHERE status = ? ORDER BY run DESC LIMIT ? OFFSET ?)
    ORDER BY s.run DESC`,
  sessionRuns: `
    ${SELECT} WHERE s.session = (SELECT position FROM sessions WHERE id = ?) AND s.status >= ${FIRST_ENDED_STATUS}
      AND s.run > ? AND s.run < ? ORDER BY s.run DESC LIMIT ?`,
  firstEndedRunOf: `
    ${SELECT} WHERE s.session = (SELECT position FROM sessions WHERE id = ?) AND s.status >= ${FIRST_ENDED_STATUS}
    ORDER BY s.run LIMIT 1`,
  openRunsOf: `
    ${SELECT} WHERE s.session = (SELECT position FROM sessions WHERE id = ?) AND s.status < ${FIRST_ENDED_STATUS}
    ORDER BY s.run LIMIT ?`,
};

/**
 * A filter by more than the status looks at every run that the indexes leave, once: it reads ids, and texts only to search
 * them.
 */
export function fittingQuery({ status, agentId, sessionId, text }: RunFilter): string {
  const conditions = [
    ...(status === undefined ? [] : ["s.status = :status"]),
    ...(agentId === undefined ? [] : ["r.agent_id = :agent"]),
    ...(sessionId === undefined ? [] : [OF_SESSION]),
    ...(text === undefined ? [] : [WITH_TEXT]),
  ];
  return `
  WITH fitting AS MATERIALIZED (
    SELECT s.run FROM run_states s JOIN runs r ON r.position = s.run WHERE ${conditions.join(" AND ")}
  )
  SELECT (SELECT count(*) FROM fitting) AS total,
    (SELECT json_group_array(run) FROM (SELECT run FROM fitting ORDER BY run DESC LIMIT :limit OFFSET :offset)) AS page`;
}

const RUNS_AT = `${SELECT} WHERE s.run IN (SELECT value FROM json_each(?)) ORDER BY s.run DESC`;
/** Along the two indexes of a session's runs. */
const BY_SESSION = "SELECT run FROM run_states WHERE session = (SELECT position FROM sessions WHERE id = :session)";
const OF_SESSION = `s.run IN (
    ${BY_SESSION} AND status >= ${FIRST_ENDED_STATUS} UNION ALL ${BY_SESSION} AND status < ${FIRST_ENDED_STATUS})`;
/** The sessions come first: a run's own message is looked up only where some text of its session fits. */
const WITH_TEXT = `(instr(r.id, :text) > 0 OR (
    s.session IN (SELECT session FROM bodies WHERE text LIKE :pattern ESCAPE '!') AND EXISTS (
      SELECT 1 FROM bodies b WHERE b.session = s.session AND b.text LIKE :pattern ESCAPE '!'
        AND b.ref = coalesce((SELECT message_ref FROM archives z WHERE z.run = r.position),
          unhex(iif(json_valid(r.accepted), r.accepted ->> '$.event.messageRef', ''))))))`;

export const RUN_LISTS = {
  openRuns(prepare: Prepare, after: number, limit: number): readonly PlacedRun[] {
    return prepare(RUN_QUERIES.openRuns).all(after, limit).map(storedRunOf(prepare));
  },

  runsAfter(prepare: Prepare, position: number, limit: number): readonly PlacedRun[] {
    return prepare(RUN_QUERIES.runsAfter).all(position, limit).map(storedRunOf(prepare));
  },

  /** The page and its total are read in one transaction. */
  listRuns(prepare: Prepare, { limit, offset, ...filter }: Parameters<Store["listRuns"]>[0]) {
    const { status, ...others } = filter;
    prepare("BEGIN").run();
    try {
      if (Object.keys(others).length > 0) return fittingRuns(prepare, filter, { limit, offset });
      return { runs: pageOfRuns(prepare, status, { limit, offset }), total: countRuns(prepare, status) };
    } finally {
      prepare("COMMIT").run();
    }
  },

  sessionRuns(
    prepare: Prepare,
    sessionId: SessionId,
    { after, before }: RunRange,
    limit: number,
  ): readonly PlacedRun[] {
    return prepare(RUN_QUERIES.sessionRuns).all(sessionId, after, before, limit).map(storedRunOf(prepare)).reverse();
  },

  openRunsOf(prepare: Prepare, sessionId: SessionId, limit: number): readonly PlacedRun[] {
    return prepare(RUN_QUERIES.openRunsOf).all(sessionId, limit).map(storedRunOf(prepare));
  },
};

export function findRun(prepare: Prepare, runId: RunId): PlacedRun | null {
  return runOrNull(prepare, prepare(`${SELECT} WHERE r.id = ?`).get(runId));
}

export function findRunIds(prepare: Prepare, beginning: string, limit: number): readonly RunId[] {
  const found = prepare("SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?");
  return found.all(beginning, `${beginning}\u{10ffff}`, limit).map(({ id }) => asRunId(String(id)));
}

export function firstRunOf(prepare: Prepare, sessionId: SessionId): PlacedRun | null {
  const open = (): PlacedRun | null => RUN_LISTS.openRunsOf(prepare, sessionId, 1)[0] ?? null;
  return runOrNull(prepare, prepare(RUN_QUERIES.firstEndedRunOf).get(sessionId)) ?? open();
}

export function findRunByKey(
  prepare: Prepare,
  keyHash: Hash,
): { readonly run: StoredRun; readonly requestHash: Hash } | null {
  const use = prepare("SELECT run, request_hash FROM idempotency_keys WHERE key_hash = ?").get(toBytes(keyHash));
  if (use === undefined) return null;
  const run = runOrNull(prepare, prepare(`${SELECT} WHERE r.position = ?`).get(Number(use["run"])));
  return run === null ? null : { run, requestHash: toHex(use["request_hash"] as Uint8Array) };
}

export function findRunByMessage(prepare: Prepare, channel: string, messageId: string): StoredRun | null {
  const byMessage = `${SELECT} WHERE r.position = (SELECT run FROM inbox WHERE channel = ? AND message_id = ?)`;
  return runOrNull(prepare, prepare(byMessage).get(channel, messageId));
}

export function runPosition(prepare: Prepare, runId: RunId): number | null {
  const row = prepare("SELECT position FROM runs WHERE id = ?").get(runId);
  return row === undefined ? null : Number(row["position"]);
}

export function sessionPosition(prepare: Prepare, sessionId: SessionId): number | null {
  const row = prepare("SELECT position FROM sessions WHERE id = ?").get(sessionId);
  return row === undefined ? null : Number(row["position"]);
}

function pageOfRuns(prepare: Prepare, status: RunStatus | undefined, { limit, offset }: Page): readonly StoredRun[] {
  const rows =
    status === undefined
      ? prepare(RUN_QUERIES.allRuns).all(limit, offset)
      : prepare(RUN_QUERIES.runsByStatus).all(statusNumber(status), limit, offset);
  return rows.map(storedRunOf(prepare));
}

function fittingRuns(prepare: Prepare, filter: RunFilter, { limit, offset }: Page) {
  const { status, agentId, sessionId, text } = filter;
  const found = prepare(fittingQuery(filter)).get({
    ...(status === undefined ? {} : { status: statusNumber(status) }),
    ...(agentId === undefined ? {} : { agent: agentId }),
    ...(sessionId === undefined ? {} : { session: sessionId }),
    ...(text === undefined ? {} : { text, pattern: `%${text.replaceAll(/[!%_]/g, "!$&")}%` }),
    ...{ limit, offset },
  });
  const rows = prepare(RUNS_AT).all(String(found?.["page"]));
  return { runs: rows.map(storedRunOf(prepare)), total: Number(found?.["total"]) };
}

function countRuns(prepare: Prepare, status: RunStatus | undefined): number {
  const row =
    status === undefined
      ? prepare("SELECT sum(total) AS total FROM run_counts").get()
      : prepare("SELECT total FROM run_counts WHERE status = ?").get(statusNumber(status));
  return Number(row?.["total"]);
}

function runOrNull(prepare: Prepare, row: object | undefined): PlacedRun | null {
  return row === undefined ? null : storedRunOf(prepare)(row);
}

/** What an archived run was accepted with is in its archive. */
function storedRunOf(prepare: Prepare): (row: object) => PlacedRun {
  return (row) => {
    const run = toStoredRun(row);
    const terms = run.contract === IN_ARCHIVE ? archivedTerms(prepare, run.position) : null;
    if (terms === null) return run;
    const { contract, accepted, completed } = terms;
    return completed === null
      ? { ...run, contract, accepted }
      : { ...run, contract, accepted: completed, acceptedAtFirst: accepted };
  };
}

interface RunRow
  extends Omit<PlacedRun, "contractHash" | "status" | "answerRef" | "ended" | "acceptedAtFirst" | "erasedAt">,
    Pick<RunEnding, "durationMs">,
    Labels {
  readonly contractHash: Uint8Array;
  readonly status: number;
  readonly answerRef: Uint8Array | null;
  /** Null until the run has ended, like the other fields of RunEnding. */
  readonly toolCalls: number | null;
  readonly headHash: Uint8Array | null;
  readonly stateDigest: Uint8Array | null;
  readonly acceptedAtFirst: string | null;
  readonly erasedAt: string | null;
}

function toStoredRun(row: object): PlacedRun {
  const { contractHash, status, answerRef, toolCalls, durationMs, headHash, stateDigest, ...rest } = row as RunRow;
  const { integrity, confidentiality, acceptedAtFirst, erasedAt, ...run } = rest;
  const labels = { integrity, confidentiality };
  return {
    ...run,
    ...(acceptedAtFirst === null ? {} : { acceptedAtFirst }),
    ...(erasedAt === null ? {} : { erasedAt }),
    contractHash: toHex(contractHash),
    status: statusOf(status),
    answerRef: answerRef === null ? null : toHex(answerRef),
    ended:
      // A damaged row lacks some of them: the run's journal still tells how it ended.
      toolCalls === null || headHash === null || stateDigest === null
        ? null
        : { toolCalls, durationMs, headHash: toHex(headHash), stateDigest: toHex(stateDigest), labels },
  };
}
