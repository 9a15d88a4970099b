/**
 * The cycle ban ends a run that repeats itself without progress: the same call with the same result three times
 * in a row, or a pair of calls that alternates with the same results twice over (a b a b). The result of a refused call
 * is its refusal. A pollable call waits for the world to change, so it clears the trail; budgets bound it instead. A
 * cycle is remembered until COMMIT: later calls of the same batch cannot hide it.
 */
import type { ExecutionContract } from "../contract/contract.ts";

export interface CallTrace {
  readonly call: string;
  readonly result: string;
}

const REPEATS_ALLOWED = 2;
const TRAIL_LENGTH = 4;

export function extendTrail(trail: readonly CallTrace[], next: CallTrace, pollable: boolean): readonly CallTrace[] {
  if (isCycle(trail)) return trail;
  return pollable ? [] : [...trail, next].slice(-TRAIL_LENGTH);
}

/** How often the newest call has been made in a row with the same result, 0 when none was made. */
export function repeatsOf(trail: readonly CallTrace[]): number {
  const newest = trail.at(-1);
  return trail.length - 1 - trail.findLastIndex((other) => !isSame(other, newest));
}

export function isCycle(trail: readonly CallTrace[]): boolean {
  return repeatsOf(trail) > REPEATS_ALLOWED || isAlternating(trail);
}

export function isForbiddenPair({ cycleForbid }: ExecutionContract, previous: string | null, next: string): boolean {
  return cycleForbid.some(([first, second]) => first === previous && second === next);
}

function isAlternating(trail: readonly CallTrace[]): boolean {
  const [a, b, c, d] = trail;
  return d !== undefined && isSame(a, c) && isSame(b, d) && !isSame(a, b);
}

function isSame(a: CallTrace | undefined, b: CallTrace | undefined): boolean {
  return a?.call === b?.call && a?.result === b?.result;
}
