/**
 * Lists: read in a thread of their own, a page at a time.
 *
 * L1. No list walks over what it does not show, but for the pages before the one asked for.
 * L2. A page and its total are of one moment.
 */
import type { LedgerEntry } from "../../kernel/journal/ledger.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { fromWire } from "../../kernel/vocabulary/wire-case.ts";
import type {
  OutboxRow,
  Page,
  PlacedRun,
  RunStatus,
  SessionCapability,
  SpendAmount,
  SpendTotal,
  Store,
  StoredApproval,
  StoredRun,
} from "../../runtime/ports/store.ts";
import { SELECT_APPROVALS, toStoredApproval } from "./approval-rows.ts";
import { SELECT_PAGE, SELECT_PENDING, toSessionCapability } from "./capability-rows.ts";
import type { Prepare } from "./connection.ts";
import { toHex } from "./hex-bytes.ts";
import { SELECT_RUNS, toStoredRun } from "./run-rows.ts";
import { FIRST_ENDED_STATUS, statusNumber } from "./schema.ts";
import type { BudgetScope } from "./spend-writes.ts";

/** Written out with every condition an index needs to be chosen; a test asks SQLite whether it is. */
export const LIST_QUERIES = {
  openRuns: `
    ${SELECT_RUNS} WHERE s.status < ${FIRST_ENDED_STATUS} AND s.run > ? ORDER BY s.run LIMIT ?`,
  // The inner query skips pages within the index, without looking at the runs themselves.
  allRuns: `
    ${SELECT_RUNS} WHERE s.run IN (SELECT run FROM run_states ORDER BY run DESC LIMIT ? OFFSET ?) ORDER BY s.run DESC`,
  runsByStatus: `
    ${SELECT_RUNS} WHERE s.run IN (SELECT run FROM run_states WHERE status = ? ORDER BY run DESC LIMIT ? OFFSET ?)
    ORDER BY s.run DESC`,
  sessionRuns: `
    ${SELECT_RUNS} WHERE s.session = (SELECT position FROM sessions WHERE id = ?) AND s.status >= ${FIRST_ENDED_STATUS}
    ORDER BY s.run DESC LIMIT ?`,
  pendingApprovals: `${SELECT_APPROVALS} WHERE a.state = 'pending' ORDER BY a.position LIMIT ? OFFSET ?`,
  pendingCapabilities: SELECT_PENDING,
  allCapabilities: SELECT_PAGE,
  waitingOutbox: `
    SELECT o.id, r.id AS run_id, o.channel, o.body_ref, o.created_at, o.state
    FROM outbox o JOIN runs r ON r.position = o.run WHERE o.state = 'waiting' ORDER BY o.position LIMIT ? OFFSET ?`,
  spendTotals: "SELECT scope, period, microusd, tokens FROM spend_totals WHERE period = ? ORDER BY scope",
  // What an earlier owner of a run left behind is spent.
  reservedUnderWay: `
    SELECT r.microusd, r.tokens, r.scopes FROM run_states s JOIN reservations r ON r.run = s.run AND r.epoch = s.epoch
    WHERE s.status < ${FIRST_ENDED_STATUS} AND r.scopes IS NOT NULL`,
  ledger: "SELECT line FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?",
} as const;

export const LIST_READS = {
  openRuns(prepare: Prepare, after: number, limit: number): readonly PlacedRun[] {
    return prepare(LIST_QUERIES.openRuns).all(after, limit).map(toStoredRun);
  },

  listRuns(prepare: Prepare, { status, limit, offset }: Parameters<Store["listRuns"]>[0]) {
    prepare("BEGIN").run();
    try {
      return { runs: pageOfRuns(prepare, status, { limit, offset }), total: countRuns(prepare, status) };
    } finally {
      prepare("COMMIT").run();
    }
  },

  sessionRuns(prepare: Prepare, sessionId: SessionId, limit: number): readonly StoredRun[] {
    return prepare(LIST_QUERIES.sessionRuns).all(sessionId, limit).map(toStoredRun).reverse();
  },

  pendingApprovals(prepare: Prepare, { limit, offset }: Page): readonly StoredApproval[] {
    return prepare(LIST_QUERIES.pendingApprovals).all(limit, offset).map(toStoredApproval);
  },

  pendingCapabilities(prepare: Prepare, { limit, offset }: Page): readonly SessionCapability[] {
    return prepare(LIST_QUERIES.pendingCapabilities).all(limit, offset).map(toSessionCapability);
  },

  allCapabilities(prepare: Prepare, { limit, offset }: Page): readonly SessionCapability[] {
    return prepare(LIST_QUERIES.allCapabilities).all(limit, offset).map(toSessionCapability);
  },

  waitingOutbox(prepare: Prepare, { limit, offset }: Page): readonly OutboxRow[] {
    return prepare(LIST_QUERIES.waitingOutbox).all(limit, offset).map(toOutboxRow);
  },

  spendTotals(prepare: Prepare, period: string): readonly SpendTotal[] {
    prepare("BEGIN").run();
    try {
      const reserved = reservedUnderWay(prepare, period);
      return prepare(LIST_QUERIES.spendTotals)
        .all(period)
        .map((row) => ({ ...row, reserved: reserved.get(String(row["scope"])) ?? NOTHING }) as unknown as SpendTotal);
    } finally {
      prepare("COMMIT").run();
    }
  },

  readLedger(prepare: Prepare, after: number, limit: number): readonly LedgerEntry[] {
    // Linked and written by ourselves; whether it still is what was written, verifyLedger says.
    return prepare(LIST_QUERIES.ledger)
      .all(after, limit)
      .map((row) => fromWire(JSON.parse(String(row["line"]))) as LedgerEntry);
  },
};

export type ListName = keyof typeof LIST_READS;
export type ListArguments<K extends ListName> =
  Parameters<(typeof LIST_READS)[K]> extends [Prepare, ...infer Rest] ? Rest : never;
export type ListResult<K extends ListName> = ReturnType<(typeof LIST_READS)[K]>;

export function readList<K extends ListName>(prepare: Prepare, name: K, args: ListArguments<K>): ListResult<K> {
  const read = LIST_READS[name] as unknown as (prepare: Prepare, ...args: ListArguments<K>) => ListResult<K>;
  return read(prepare, ...args);
}

function pageOfRuns(prepare: Prepare, status: RunStatus | undefined, { limit, offset }: Page): readonly StoredRun[] {
  const rows =
    status === undefined
      ? prepare(LIST_QUERIES.allRuns).all(limit, offset)
      : prepare(LIST_QUERIES.runsByStatus).all(statusNumber(status), limit, offset);
  return rows.map(toStoredRun);
}

const NOTHING: SpendAmount = { microusd: 0, tokens: 0 };

function reservedUnderWay(prepare: Prepare, period: string): ReadonlyMap<string, SpendAmount> {
  const byScope = new Map<string, SpendAmount>();
  for (const row of prepare(LIST_QUERIES.reservedUnderWay).all()) {
    for (const [of, scope] of JSON.parse(String(row["scopes"])) as readonly BudgetScope[]) {
      if (of !== period) continue;
      const { microusd, tokens } = byScope.get(scope) ?? NOTHING;
      byScope.set(scope, { microusd: microusd + Number(row["microusd"]), tokens: tokens + Number(row["tokens"]) });
    }
  }
  return byScope;
}

function countRuns(prepare: Prepare, status: RunStatus | undefined): number {
  const row =
    status === undefined
      ? prepare("SELECT sum(total) AS total FROM run_counts").get()
      : prepare("SELECT total FROM run_counts WHERE status = ?").get(statusNumber(status));
  return Number(row?.["total"]);
}

function toOutboxRow(row: Readonly<Record<string, unknown>>): OutboxRow {
  return {
    id: row["id"] as string,
    runId: row["run_id"] as OutboxRow["runId"],
    channel: row["channel"] as string,
    bodyRef: toHex(row["body_ref"] as Uint8Array),
    createdAt: row["created_at"] as string,
    state: row["state"] as OutboxRow["state"],
  };
}
