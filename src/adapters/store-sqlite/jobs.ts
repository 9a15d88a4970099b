/**
 * Jobs and their slots: tables, rows, reads and writes. `record` is the seed's JSON (O-4.1). When one may be written:
 * assistant/schedule/job-rules.ts.
 *
 * The index `due_jobs` holds what the scheduler looks for and nothing else, so a check costs what is due, not how many jobs
 * there are.
 */
import { checkAddJob, checkSettleSlots, KEPT_SLOTS, slotDraft } from "../../assistant/schedule/job-rules.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import type { Page } from "../../runtime/ports/store.ts";
import type {
  JobRecord,
  JobTerms,
  SlotCounts,
  SlotStatus,
  StoredJob,
  StoredSlots,
} from "../../runtime/ports/stored-job.ts";
import type { Prepare, Tables } from "./connection.ts";
import { isAsRecorded, record } from "./recorded-rows.ts";
import { mayWrite, type Transaction, type WriteHandlers } from "./transaction.ts";

export const JOB_TABLES: Tables = {
  18: `
  CREATE TABLE jobs (
    id TEXT PRIMARY KEY, record TEXT NOT NULL, terms TEXT NOT NULL, due_ms INTEGER, every_ms INTEGER,
    slot INTEGER NOT NULL, paused_at_ms INTEGER, last_run_id TEXT, ran INTEGER NOT NULL, skipped INTEGER NOT NULL, missed INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX due_jobs ON jobs (due_ms) WHERE paused_at_ms IS NULL AND due_ms IS NOT NULL;
  CREATE TABLE job_slots (
    job TEXT NOT NULL, slot INTEGER NOT NULL, count INTEGER NOT NULL, first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT, run_id TEXT, settled_at_ms INTEGER NOT NULL,
    PRIMARY KEY (job, slot)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX job_slots_by_time ON job_slots (settled_at_ms);
  CREATE TABLE schedule_pause (id INTEGER PRIMARY KEY CHECK (id = 1), paused_at_ms INTEGER NOT NULL) STRICT;`,
};

const SELECT = `
  SELECT id, record, terms, due_ms AS dueMs, slot, paused_at_ms AS pausedAtMs, last_run_id AS lastRunId, ran, skipped,
    missed FROM jobs`;
const INSERT = "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, 1, ?, NULL, 0, 0, 0)";
const ENABLE = `
  UPDATE jobs SET paused_at_ms = ?1, record = json_set(record, '$.enabled', json(CASE WHEN ?1 IS NULL THEN 'true' ELSE 'false' END))
  WHERE id = ?2`;
/** A job without a next slot is disabled. */
const MOVE_ON = `
  UPDATE jobs SET slot = ?1, due_ms = ?2, ran = ran + ?3, skipped = skipped + ?4, missed = missed + ?5,
    record = CASE WHEN ?2 IS NULL THEN json_set(record, '$.enabled', json('false')) ELSE record END
  WHERE id = ?6`;
const NOTE_RUN = "UPDATE jobs SET last_run_id = ?, record = json_set(record, '$.lastRun', ?) WHERE id = ?";
const INSERT_SLOTS = "INSERT INTO job_slots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
const FORGET_SLOTS = `
  DELETE FROM job_slots WHERE job = ?1
    AND slot <= (SELECT slot FROM job_slots WHERE job = ?1 ORDER BY slot DESC LIMIT 1 OFFSET ?2)`;
const SELECT_SLOTS = `
  SELECT job AS jobId, slot, count, first_ms AS firstMs, last_ms AS lastMs, status, reason, run_id AS runId,
    settled_at_ms AS settledAtMs FROM job_slots`;

/** Planned by a clock that has gone back since. Looks at every job, at a start and after such a jump only. */
const MISPLANNED = `
  ${SELECT} WHERE paused_at_ms IS NULL AND every_ms IS NOT NULL AND due_ms > ? + every_ms ORDER BY due_ms LIMIT ?`;

export const JOB_QUERIES = {
  due: `${SELECT} WHERE paused_at_ms IS NULL AND due_ms IS NOT NULL AND due_ms <= ? ORDER BY due_ms LIMIT ?`,
  nextDue: "SELECT min(due_ms) AS dueMs FROM jobs WHERE paused_at_ms IS NULL AND due_ms IS NOT NULL",
  slots: `${SELECT_SLOTS} ORDER BY settled_at_ms DESC LIMIT ? OFFSET ?`,
  slotsOfJob: `${SELECT_SLOTS} WHERE job = ? ORDER BY slot DESC LIMIT ? OFFSET ?`,
};

export const JOB_LISTS = {
  listJobs(prepare: Prepare, { limit, offset }: Page): readonly StoredJob[] {
    return prepare(`${SELECT} ORDER BY id LIMIT ? OFFSET ?`)
      .all(limit, offset)
      .map((row) => toJob(prepare, row));
  },

  dueJobs(prepare: Prepare, byMs: number, limit: number): readonly StoredJob[] {
    return prepare(JOB_QUERIES.due)
      .all(byMs, limit)
      .map((row) => toJob(prepare, row));
  },

  misplannedJobs(prepare: Prepare, nowMs: number, limit: number): readonly StoredJob[] {
    return prepare(MISPLANNED)
      .all(nowMs, limit)
      .map((row) => toJob(prepare, row));
  },

  listSlots(prepare: Prepare, jobId: string | null, { limit, offset }: Page): readonly StoredSlots[] {
    const rows =
      jobId === null
        ? prepare(JOB_QUERIES.slots).all(limit, offset)
        : prepare(JOB_QUERIES.slotsOfJob).all(jobId, limit, offset);
    return rows.map((row) => ({ ...row }) as unknown as StoredSlots);
  },
};

type JobWrites = "add-job" | "remove-job" | "pause-job" | "pause-schedule" | "settle-slots" | "note-job-run";

export const JOB_WRITES: WriteHandlers<JobWrites> = {
  "add-job"(transaction, { job: { record: written, terms, dueMs, everyMs }, maxJobs }) {
    const { prepare, appendLedger } = transaction;
    const { id, enabled } = written;
    const count = Number(prepare("SELECT count(*) AS jobs FROM jobs").get()?.["jobs"]);
    if (!mayWrite(checkAddJob(findJob(prepare, id), count, maxJobs))) return;
    const pausedAtMs = enabled ? null : Date.parse(terms.createdAt);
    prepare(INSERT).run(id, JSON.stringify(written), JSON.stringify(terms), dueMs, everyMs, pausedAtMs);
    appendLedger({
      kind: "job.added",
      ts: terms.createdAt,
      actor: terms.principal,
      data: { jobId: id, runId: terms.runId },
    });
    record(transaction, terms.createdAt, "jobs", id);
  },

  "remove-job"(transaction, { jobId, by, atMs }) {
    const { prepare, appendLedger } = transaction;
    if (prepare("DELETE FROM jobs WHERE id = ?").run(jobId).changes === 0) return;
    prepare("DELETE FROM job_slots WHERE job = ?").run(jobId);
    const ts = timestampOf(atMs);
    appendLedger({ kind: "job.removed", ts, actor: by, data: { jobId } });
    record(transaction, ts, "jobs", jobId);
  },

  "pause-job"(transaction, { jobId, isPaused, by, atMs }) {
    const { prepare, appendLedger } = transaction;
    const job = findJob(prepare, jobId);
    if (job === null || (job.pausedAtMs !== null) === isPaused) return;
    prepare(ENABLE).run(isPaused ? atMs : null, jobId);
    const ts = timestampOf(atMs);
    appendLedger({ kind: isPaused ? "schedule.paused" : "schedule.resumed", ts, actor: by, data: { jobId } });
    record(transaction, ts, "jobs", jobId);
  },

  "pause-schedule"({ prepare, appendLedger }, { isPaused, by, atMs }) {
    const change = isPaused
      ? prepare("INSERT INTO schedule_pause VALUES (1, ?) ON CONFLICT DO NOTHING").run(atMs)
      : prepare("DELETE FROM schedule_pause").run();
    if (change.changes === 0) return;
    const kind = isPaused ? "schedule.paused" : "schedule.resumed";
    appendLedger({ kind, ts: timestampOf(atMs), actor: by, data: { jobId: null } });
  },

  "settle-slots"(transaction, write) {
    const { prepare, appendLedger } = transaction;
    const { jobId, slot, settled, nextMs, atMs } = write;
    const job = findJob(prepare, jobId);
    const isAllPaused = schedulePausedAtMs(prepare) !== null;
    if (!mayWrite(checkSettleSlots(job, job?.isForged === true, isAllPaused, write))) return;
    let next = slot;
    for (const each of settled) {
      const { count, firstMs, lastMs, status, reason, runId } = each;
      prepare(INSERT_SLOTS).run(jobId, next, count, firstMs, lastMs, status, reason, runId, atMs);
      appendLedger(slotDraft(jobId, each, atMs));
      if (runId !== null) noteRun(transaction, jobId, runId, atMs);
      next += count;
    }
    const counted = (status: SlotStatus): number =>
      settled.reduce((sum, each) => sum + (each.status === status ? each.count : 0), 0);
    prepare(MOVE_ON).run(next, nextMs, counted("ran"), counted("skipped"), counted("missed"), jobId);
    prepare(FORGET_SLOTS).run(jobId, KEPT_SLOTS);
    // An edited row stays as it was: nothing vouches for it.
    if (nextMs === null && job?.isForged === false) record(transaction, timestampOf(atMs), "jobs", jobId);
  },

  "note-job-run"(transaction, { jobId, runId, atMs }) {
    noteRun(transaction, jobId, runId, atMs);
  },
};

function noteRun({ prepare }: Pick<Transaction, "prepare">, jobId: string, runId: string, atMs: number): void {
  prepare(NOTE_RUN).run(runId, timestampOf(atMs), jobId);
}

export function findJob(prepare: Prepare, id: string): StoredJob | null {
  const row = prepare(`${SELECT} WHERE id = ?`).get(id);
  return row === undefined ? null : toJob(prepare, row);
}

export function nextDueMs(prepare: Prepare): number | null {
  return (prepare(JOB_QUERIES.nextDue).get()?.["dueMs"] ?? null) as number | null;
}

export function schedulePausedAtMs(prepare: Prepare): number | null {
  return (prepare("SELECT paused_at_ms AS atMs FROM schedule_pause").get()?.["atMs"] ?? null) as number | null;
}

function toJob(prepare: Prepare, row: object): StoredJob {
  const {
    id,
    record: written,
    terms,
    ran,
    skipped,
    missed,
    ...rest
  } = row as { readonly id: string } & {
    readonly [K in "record" | "terms"]: string;
  } & SlotCounts &
    Pick<StoredJob, "dueMs" | "slot" | "pausedAtMs" | "lastRunId">;
  return {
    ...rest,
    record: JSON.parse(written) as JobRecord,
    terms: JSON.parse(terms) as JobTerms,
    counts: { ran, skipped, missed },
    isForged: !isAsRecorded(prepare, "jobs", id),
  };
}
