/**
 * Spending: tables, rows and writes. What may be reserved, and what a settlement changes:
 * src/runtime/spend/spend-rules.ts.
 */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { CommitResult } from "../../runtime/ports/store.ts";
import type { SpendAmount, SpendTotal } from "../../runtime/ports/stored-spend.ts";
import {
  amountToCount,
  amountToReserve,
  findExceededScope,
  type StoredReservation,
  settlementChange,
} from "../../runtime/spend/spend-rules.ts";
import type { Prepare, Tables } from "./connection.ts";
import { FIRST_ENDED_STATUS, runPosition } from "./runs.ts";
import type { Transaction, WriteHandlers, WriteOf } from "./transaction.ts";

export const SPEND_TABLES: Tables = {
  1: `
  CREATE TABLE spend_totals (
    period TEXT NOT NULL, scope TEXT NOT NULL, microusd INTEGER NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY (period, scope)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE reservations (
    run INTEGER NOT NULL, epoch INTEGER NOT NULL, attempt INTEGER NOT NULL, microusd INTEGER NOT NULL,
    tokens INTEGER NOT NULL, scopes TEXT, PRIMARY KEY (run, epoch, attempt)
  ) STRICT, WITHOUT ROWID;`,
};

/** One scope of a reservation, as its row names it. */
type ScopeKey = readonly [period: string, scope: string];

type Row = Readonly<Record<string, unknown>>;

const NOTHING: SpendAmount = { microusd: 0, tokens: 0 };

const TOTAL = "SELECT microusd, tokens FROM spend_totals WHERE period = ? AND scope = ?";
const ADD = `
  INSERT INTO spend_totals (period, scope, microusd, tokens) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET microusd = microusd + excluded.microusd, tokens = tokens + excluded.tokens`;
const RESERVATION = "SELECT microusd, tokens, scopes FROM reservations WHERE run = ? AND epoch = ? AND attempt = ?";
const UNSETTLED = `
  SELECT attempt, microusd, tokens, scopes FROM reservations WHERE run = ? AND epoch = ? AND scopes IS NOT NULL`;
const RESERVE = "INSERT INTO reservations (run, epoch, attempt, microusd, tokens, scopes) VALUES (?, ?, ?, ?, ?, ?)";
const RAISE = `
  UPDATE reservations SET microusd = microusd + ?, tokens = tokens + ? WHERE run = ? AND epoch = ? AND attempt = ?`;
const SETTLED = `
  SELECT total(microusd) AS microusd, total(tokens) AS tokens FROM reservations WHERE run = ? AND scopes IS NULL`;
/** A settled row stays, so that a repeated reservation finds it; it needs its scopes no longer. */
const SETTLE = `
  UPDATE reservations SET microusd = ?, tokens = ?, scopes = NULL WHERE run = ? AND epoch = ? AND attempt = ?`;

export const SPEND_QUERIES = {
  totals: "SELECT scope, period, microusd, tokens FROM spend_totals WHERE period = ? ORDER BY scope",
  // What an earlier owner of a run left behind is spent, no longer reserved.
  reserved: `
    SELECT r.microusd, r.tokens, r.scopes FROM run_states s JOIN reservations r ON r.run = s.run AND r.epoch = s.epoch
    WHERE s.status < ${FIRST_ENDED_STATUS} AND r.scopes IS NOT NULL`,
  heldFor: `
    SELECT total(r.microusd) AS microusd, total(r.tokens) AS tokens FROM run_states s JOIN reservations r
      ON r.run = s.run AND r.epoch = s.epoch
    WHERE s.run = ? AND s.status < ${FIRST_ENDED_STATUS} AND r.scopes IS NOT NULL`,
};

export function heldFor(prepare: Prepare, runId: RunId): SpendAmount | null {
  const run = runPosition(prepare, runId);
  return run === null ? null : toAmount(prepare(SPEND_QUERIES.heldFor).get(run));
}

export const SPEND_LISTS = {
  spendTotals(prepare: Prepare, period: string): readonly SpendTotal[] {
    prepare("BEGIN").run();
    try {
      const reserved = reservedByScope(prepare, period);
      return prepare(SPEND_QUERIES.totals)
        .all(period)
        .map((row) => ({ ...row, reserved: reserved.get(String(row["scope"])) ?? NOTHING }) as unknown as SpendTotal);
    } finally {
      prepare("COMMIT").run();
    }
  },
};

export const SPEND_WRITES: WriteHandlers<"settle-spend" | "release-spend" | "count-spend"> = {
  "settle-spend"({ prepare, heads }, { runId, epoch, attempt, amount }) {
    const { run } = heads.get(runId);
    settle(prepare, [run, epoch, attempt], prepare(RESERVATION).get(run, epoch, attempt), amount);
  },

  "release-spend"({ prepare, heads }, { runId, epoch }) {
    const { run } = heads.get(runId);
    for (const row of prepare(UNSETTLED).all(run, epoch)) {
      settle(prepare, [run, epoch, Number(row["attempt"])], row, NOTHING);
    }
  },

  "count-spend"({ prepare, heads }, { runId, amount, scopes }) {
    const settled = runId === null ? null : toAmount(prepare(SETTLED).get(heads.get(runId).run));
    const uncounted = amountToCount(settled, amount);
    if (uncounted !== null) add(prepare, scopes.map(toKey), uncounted);
  },
};

export function reserveSpend(
  { prepare, heads }: Transaction,
  { runId, epoch, attempt, amount, scopes }: WriteOf<"reserve-spend">,
): NonNullable<CommitResult["spend"]> {
  const { run } = heads.get(runId);
  const row = prepare(RESERVATION).get(run, epoch, attempt);
  const missing = amountToReserve(toReservation(row), amount);
  if (missing === null) return { granted: true };
  const totals = scopes.map((scope) => ({ scope, total: toAmount(prepare(TOTAL).get(...toKey(scope))) }));
  const exceeded = findExceededScope(totals, missing);
  if (exceeded !== null) return exceeded;
  if (row === undefined) {
    const keys = scopes.map(toKey);
    add(prepare, keys, missing);
    prepare(RESERVE).run(run, epoch, attempt, missing.microusd, missing.tokens, JSON.stringify(keys));
  } else {
    add(prepare, scopesOf(row), missing);
    prepare(RAISE).run(missing.microusd, missing.tokens, run, epoch, attempt);
  }
  return { granted: true };
}

function settle(
  prepare: Prepare,
  key: readonly [run: number, epoch: number, attempt: number],
  row: Row | undefined,
  amount: SpendAmount,
): void {
  const change = settlementChange(toReservation(row), amount);
  if (row === undefined || change === null) return;
  add(prepare, scopesOf(row), change);
  prepare(SETTLE).run(amount.microusd, amount.tokens, ...key);
}

function reservedByScope(prepare: Prepare, period: string): ReadonlyMap<string, SpendAmount> {
  const byScope = new Map<string, SpendAmount>();
  for (const row of prepare(SPEND_QUERIES.reserved).all()) {
    const reserved = toAmount(row);
    for (const [of, scope] of scopesOf(row)) {
      if (of !== period) continue;
      const { microusd, tokens } = byScope.get(scope) ?? NOTHING;
      byScope.set(scope, { microusd: microusd + reserved.microusd, tokens: tokens + reserved.tokens });
    }
  }
  return byScope;
}

function add(prepare: Prepare, scopes: readonly ScopeKey[], { microusd, tokens }: SpendAmount): void {
  for (const [period, scope] of scopes) prepare(ADD).run(period, scope, microusd, tokens);
}

function toKey({ period, scope }: { readonly period: string; readonly scope: string }): ScopeKey {
  return [period, scope];
}

function toAmount(row: Row | undefined): SpendAmount {
  return { microusd: Number(row?.["microusd"] ?? 0), tokens: Number(row?.["tokens"] ?? 0) };
}

function toReservation(row: Row | undefined): StoredReservation | null {
  return row === undefined ? null : { ...toAmount(row), isSettled: row["scopes"] === null };
}

function scopesOf(row: Row): readonly ScopeKey[] {
  return JSON.parse(String(row["scopes"])) as readonly ScopeKey[];
}
