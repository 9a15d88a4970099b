/**
 * Writes about spending.
 *
 * Q1. A total never passes its limit by a reservation: all scopes take the amount, or none does.
 * Q2. What is reserved counts until it is settled; what nobody settles, after a crash, counts for good.
 * Q3. One attempt of one run is counted once, however often its reservation or its settlement is repeated.
 */
import type { CommitResult, SpendAmount, SpendScope } from "../../runtime/ports/store.ts";
import type { Prepare } from "./connection.ts";
import type { RunHeads } from "./run-heads.ts";
import type { WriteOf } from "./run-writes.ts";

type Purse = readonly [period: string, scope: string];

const TOTAL = "SELECT microusd, tokens FROM spend_totals WHERE period = ? AND scope = ?";
const ADD = `
  INSERT INTO spend_totals (period, scope, microusd, tokens) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET microusd = microusd + excluded.microusd, tokens = tokens + excluded.tokens`;
const RESERVED = "SELECT microusd, tokens, scopes FROM reservations WHERE run = ? AND attempt = ?";
const RESERVE = "INSERT INTO reservations (run, attempt, microusd, tokens, scopes) VALUES (?, ?, ?, ?, ?)";
/** The row stays, for Q3; what it counted against is needed no more. */
const SETTLE = "UPDATE reservations SET microusd = ?, tokens = ?, scopes = NULL WHERE run = ? AND attempt = ?";

export function reserveSpend(
  prepare: Prepare,
  heads: RunHeads,
  { runId, attempt, amount, scopes }: WriteOf<"reserve-spend">,
): NonNullable<CommitResult["spend"]> {
  const { run } = heads.get(runId);
  if (prepare(RESERVED).get(run, attempt) !== undefined) return { granted: true };
  for (const scope of scopes) {
    const by = exceededBy(prepare, scope, amount);
    if (by !== null) return { granted: false, scope: scope.scope, by };
  }
  const purses = scopes.map(({ period, scope }): Purse => [period, scope]);
  add(prepare, purses, amount);
  prepare(RESERVE).run(run, attempt, amount.microusd, amount.tokens, JSON.stringify(purses));
  return { granted: true };
}

export function settleSpend(
  prepare: Prepare,
  heads: RunHeads,
  { runId, attempt, amount }: WriteOf<"settle-spend">,
): void {
  const { run } = heads.get(runId);
  const row = prepare(RESERVED).get(run, attempt);
  const scopes = row?.["scopes"];
  if (row === undefined || typeof scopes !== "string") return;
  add(prepare, JSON.parse(scopes) as readonly Purse[], {
    microusd: amount.microusd - Number(row["microusd"]),
    tokens: amount.tokens - Number(row["tokens"]),
  });
  prepare(SETTLE).run(amount.microusd, amount.tokens, run, attempt);
}

function exceededBy(prepare: Prepare, scope: SpendScope, amount: SpendAmount): "microusd" | "tokens" | null {
  const total = prepare(TOTAL).get(scope.period, scope.scope);
  const exceeds = (name: "microusd" | "tokens", limit: number | null): boolean =>
    limit !== null && Number(total?.[name] ?? 0) + amount[name] > limit;
  if (exceeds("microusd", scope.limitMicrousd)) return "microusd";
  return exceeds("tokens", scope.limitTokens) ? "tokens" : null;
}

function add(prepare: Prepare, purses: readonly Purse[], { microusd, tokens }: SpendAmount): void {
  for (const [period, scope] of purses) prepare(ADD).run(period, scope, microusd, tokens);
}
