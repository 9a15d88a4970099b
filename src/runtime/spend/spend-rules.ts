/**
 * When spending may be reserved, and what a settlement changes.
 *
 * Q1. A reservation never takes a total past its limit: every scope takes the amount, or none does.
 * Q2. A reservation counts until its owner settles or releases it; what an owner leaves behind after a crash counts for
 *     good.
 * Q3. One attempt of one owner (a run under an epoch) is counted once, however often its reservation or settlement is
 *     repeated; a larger reservation adds the difference. The next owner's attempt is counted separately, because the
 *     first may have been paid for.
 */
import type { CommitResult } from "../ports/store.ts";
import type { SpendAmount, SpendScope } from "../ports/stored-spend.ts";

export interface StoredReservation extends SpendAmount {
  readonly isSettled: boolean;
}

type Refusal = Extract<NonNullable<CommitResult["spend"]>, { granted: false }>;

/** What the scopes must take on top of an earlier reservation of this attempt; null when it is covered already. */
export function amountToReserve(found: StoredReservation | null, amount: SpendAmount): SpendAmount | null {
  if (found === null) return amount;
  const missing = subtractCounted(amount, found);
  return found.isSettled || isNothing(missing) ? null : missing;
}

/** The first scope whose limit the amount would pass; null when all of them allow it. */
export function findExceededScope(
  scopes: readonly { readonly scope: SpendScope; readonly total: SpendAmount }[],
  amount: SpendAmount,
): Refusal | null {
  for (const { scope, total } of scopes) {
    const limits = { microusd: scope.limitMicrousd, tokens: scope.limitTokens };
    for (const by of ["microusd", "tokens"] as const) {
      const limit = limits[by];
      if (limit === null) continue;
      const left = limit - total[by];
      if (amount[by] > left) {
        return { granted: false, scope: scope.scope, by, needed: amount[by], left: Math.max(0, left) };
      }
    }
  }
  return null;
}

/** By how much a settlement changes the totals; null when there is nothing left to settle. */
export function settlementChange(found: StoredReservation | null, amount: SpendAmount): SpendAmount | null {
  if (found === null || found.isSettled) return null;
  return { microusd: amount.microusd - found.microusd, tokens: amount.tokens - found.tokens };
}

/** What a run used beyond its settled reservations; null when they counted all of it. */
export function amountToCount(settled: SpendAmount | null, amount: SpendAmount): SpendAmount | null {
  const uncounted = settled === null ? amount : subtractCounted(amount, settled);
  return isNothing(uncounted) ? null : uncounted;
}

function subtractCounted(amount: SpendAmount, counted: SpendAmount): SpendAmount {
  return {
    microusd: Math.max(0, amount.microusd - counted.microusd),
    tokens: Math.max(0, amount.tokens - counted.tokens),
  };
}

function isNothing({ microusd, tokens }: SpendAmount): boolean {
  return microusd === 0 && tokens === 0;
}
