/**
 * Writes about spending.
 *
 * Q1. A total never passes its limit by a reservation: all scopes take the amount, or none does.
 * Q2. What is reserved counts until it is settled or given back by the owner that reserved it; what an owner leaves
 *     behind, after a crash, counts for good.
 * Q3. One attempt of one owner (a run under an epoch) is counted once, however often its reservation or its settlement
 *     is repeated; a larger reservation adds what it is more. The next owner's is another one: the first may have been
 *     paid for.
 */
import type { CommitResult, SpendAmount, SpendScope } from "../../runtime/ports/store.ts";
import type { Prepare } from "./connection.ts";
import type { RunHeads } from "./run-heads.ts";
import type { WriteOf } from "./write-of.ts";

/** As a reservation's row names what it counts against. */
export type BudgetScope = readonly [period: string, scope: string];

const TOTAL = "SELECT microusd, tokens FROM spend_totals WHERE period = ? AND scope = ?";
const ADD = `
  INSERT INTO spend_totals (period, scope, microusd, tokens) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET microusd = microusd + excluded.microusd, tokens = tokens + excluded.tokens`;
const RESERVED = "SELECT microusd, tokens, scopes FROM reservations WHERE run = ? AND epoch = ? AND attempt = ?";
const UNSETTLED = `
  SELECT attempt, microusd, tokens, scopes FROM reservations WHERE run = ? AND epoch = ? AND scopes IS NOT NULL`;
const RESERVE = "INSERT INTO reservations (run, epoch, attempt, microusd, tokens, scopes) VALUES (?, ?, ?, ?, ?, ?)";
const RAISE = `
  UPDATE reservations SET microusd = microusd + ?, tokens = tokens + ? WHERE run = ? AND epoch = ? AND attempt = ?`;
const SETTLED = `
  SELECT total(microusd) AS microusd, total(tokens) AS tokens FROM reservations WHERE run = ? AND scopes IS NULL`;
/** The row stays, for Q3; what it counted against is needed no more. */
const SETTLE = `
  UPDATE reservations SET microusd = ?, tokens = ?, scopes = NULL WHERE run = ? AND epoch = ? AND attempt = ?`;

export function reserveSpend(
  prepare: Prepare,
  heads: RunHeads,
  { runId, epoch, attempt, amount, scopes }: WriteOf<"reserve-spend">,
): NonNullable<CommitResult["spend"]> {
  const { run } = heads.get(runId);
  const row = prepare(RESERVED).get(run, epoch, attempt);
  if (row !== undefined && row["scopes"] === null) return { granted: true };
  const missing = beyond(amount, row);
  if (row !== undefined && missing.microusd === 0 && missing.tokens === 0) return { granted: true };
  for (const scope of scopes) {
    const exceeded = exceededBy(prepare, scope, missing);
    if (exceeded !== null) return { granted: false, scope: scope.scope, ...exceeded };
  }
  if (row !== undefined) {
    add(prepare, JSON.parse(String(row["scopes"])) as readonly BudgetScope[], missing);
    prepare(RAISE).run(missing.microusd, missing.tokens, run, epoch, attempt);
    return { granted: true };
  }
  const purses = scopes.map(({ period, scope }): BudgetScope => [period, scope]);
  add(prepare, purses, amount);
  prepare(RESERVE).run(run, epoch, attempt, amount.microusd, amount.tokens, JSON.stringify(purses));
  return { granted: true };
}

function beyond({ microusd, tokens }: SpendAmount, row: Readonly<Record<string, unknown>> | undefined): SpendAmount {
  return {
    microusd: Math.max(0, microusd - Number(row?.["microusd"] ?? 0)),
    tokens: Math.max(0, tokens - Number(row?.["tokens"] ?? 0)),
  };
}

export function settleSpend(
  prepare: Prepare,
  heads: RunHeads,
  { runId, epoch, attempt, amount }: WriteOf<"settle-spend">,
): void {
  const { run } = heads.get(runId);
  const row = prepare(RESERVED).get(run, epoch, attempt);
  if (row === undefined || row["scopes"] === null) return;
  replace(prepare, row, amount);
  prepare(SETTLE).run(amount.microusd, amount.tokens, run, epoch, attempt);
}

export function releaseSpend(prepare: Prepare, heads: RunHeads, { runId, epoch }: WriteOf<"release-spend">): void {
  const { run } = heads.get(runId);
  for (const row of prepare(UNSETTLED).all(run, epoch)) {
    replace(prepare, row, { microusd: 0, tokens: 0 });
    prepare(SETTLE).run(0, 0, run, epoch, Number(row["attempt"]));
  }
}

export function countSpend(prepare: Prepare, heads: RunHeads, { runId, amount, scopes }: WriteOf<"count-spend">): void {
  const uncounted = runId === null ? amount : beyond(amount, prepare(SETTLED).get(heads.get(runId).run));
  if (uncounted.microusd === 0 && uncounted.tokens === 0) return;
  const purses = scopes.map(({ period, scope }): BudgetScope => [period, scope]);
  add(prepare, purses, uncounted);
}

/** Puts the true amount in a reservation's place, in every purse it was counted against. */
function replace(prepare: Prepare, reserved: Readonly<Record<string, unknown>>, amount: SpendAmount): void {
  add(prepare, JSON.parse(String(reserved["scopes"])) as readonly BudgetScope[], {
    microusd: amount.microusd - Number(reserved["microusd"]),
    tokens: amount.tokens - Number(reserved["tokens"]),
  });
}

type Refusal = Omit<Extract<NonNullable<CommitResult["spend"]>, { granted: false }>, "granted" | "scope">;

function exceededBy(prepare: Prepare, scope: SpendScope, amount: SpendAmount): Refusal | null {
  const total = prepare(TOTAL).get(scope.period, scope.scope);
  const exceeded = (by: Refusal["by"], limit: number | null): Refusal | null => {
    if (limit === null) return null;
    const left = limit - Number(total?.[by] ?? 0);
    return amount[by] > left ? { by, needed: amount[by], left: Math.max(0, left) } : null;
  };
  return exceeded("microusd", scope.limitMicrousd) ?? exceeded("tokens", scope.limitTokens);
}

function add(prepare: Prepare, purses: readonly BudgetScope[], { microusd, tokens }: SpendAmount): void {
  for (const [period, scope] of purses) prepare(ADD).run(period, scope, microusd, tokens);
}
