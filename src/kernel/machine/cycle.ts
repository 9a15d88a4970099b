/**
 * The cycle ban ends a run that repeats itself without progress: the same call with the same result three times
 * in a row, or a sequence of two to four calls with the same results twice over (a b a b, a b c a b c). The result of a
 * refused call is its refusal. A pollable call waits for the world to change, so it clears the trail; budgets bound it
 * instead. A cycle is remembered until COMMIT: later calls of the same batch cannot hide it.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { hasChange } from "./changes.ts";

export interface CallTrace {
  readonly call: string;
  readonly result: string;
}

type Terms = Pick<ExecutionContract, "machineVersion">;

const REPEATS_ALLOWED = 2;

export function extendTrail(
  terms: Terms,
  trail: readonly CallTrace[],
  next: CallTrace,
  pollable: boolean,
): readonly CallTrace[] {
  if (isCycle(terms, trail)) return trail;
  return pollable ? [] : [...trail, next].slice(-2 * longestPeriod(terms));
}

/** How often the newest call has been made in a row with the same result, 0 when none was made. */
export function repeatsOf(trail: readonly CallTrace[]): number {
  const newest = trail.at(-1);
  return trail.length - 1 - trail.findLastIndex((other) => !isSame(other, newest));
}

export function isCycle(terms: Terms, trail: readonly CallTrace[]): boolean {
  if (repeatsOf(trail) > REPEATS_ALLOWED) return true;
  for (let period = 2; period <= longestPeriod(terms); period += 1) {
    if (isTwiceOver(trail, period)) return true;
  }
  return false;
}

export function isForbiddenPair({ cycleForbid }: ExecutionContract, previous: string | null, next: string): boolean {
  return cycleForbid.some(([first, second]) => first === previous && second === next);
}

function longestPeriod(terms: Terms): number {
  return hasChange(terms, "cycle.longer-periods") ? 4 : 2;
}

function isTwiceOver(trail: readonly CallTrace[], period: number): boolean {
  const twice = trail.slice(-2 * period);
  return twice.length === 2 * period && twice.slice(period).every((call, index) => isSame(call, twice[index]));
}

function isSame(a: CallTrace | undefined, b: CallTrace | undefined): boolean {
  return a?.call === b?.call && a?.result === b?.result;
}
