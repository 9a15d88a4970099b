/**
 * When a ghost may appear, and when it may be decided (T-5.2).
 *
 * G1. Between two ghosts pass at least `cooldown` milliseconds, and in any hour appear at most `maxGhostsPerHour`. Both
 *     count over restarts, since they are read from the stored ghosts.
 * G2. A clock that was set back holds nothing up for longer than it would have without.
 * G3. A ghost is decided once.
 */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import type { GhostState, StoredGhost } from "../../runtime/ports/stored-ghost.ts";
import type { WriteVerdict } from "../../runtime/ports/write-verdict.ts";

export const HOUR_MS = 3_600_000;

export interface Pace {
  readonly cooldown: number;
  readonly maxGhostsPerHour: number;
}

/** How long the next ghost has to wait; null: none may appear at all. `times`: of the earlier ones, the newest first. */
export function waitBeforeGhost(times: readonly number[], nowMs: number, pace: Pace): number | null {
  const { cooldown, maxGhostsPerHour } = pace;
  if (maxGhostsPerHour === 0) return null;
  const [latest] = times;
  const cooling = latest === undefined ? 0 : Math.min(latest + cooldown - nowMs, cooldown);
  // The one that has to be an hour old before another may follow.
  const oldest = times[maxGhostsPerHour - 1];
  const limited = oldest === undefined ? 0 : Math.min(oldest + HOUR_MS - nowMs, HOUR_MS);
  return Math.max(0, cooling, limited);
}

export function checkDecideGhost(
  ghost: StoredGhost | null,
  { state, runId }: { readonly state: Exclude<GhostState, "open">; readonly runId: RunId | null },
): WriteVerdict {
  if (ghost === null) return new StoreError("store.conflict", "There is no such ghost.");
  if (ghost.state === "open") return "write";
  if (ghost.state === state && ghost.runId === runId) return "skip";
  return new StoreError("store.conflict", `This ghost is ${ghost.state} already.`);
}
