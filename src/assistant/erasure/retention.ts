/**
 * Retention: forgets conversations that had no message for long, and the oldest ones where the home takes too much.
 * A run without a conversation is one of its own. It is the erasure that a person asks for: every chain still verifies, and the
 * ledger says that it was retention.
 *
 * N1. Whole conversations go, by their latest message: one that goes on loses nothing of its beginning.
 * N2. One with a run that has not ended is passed over.
 * N3. Their folders of records and their audit lines go too: the database has what they held.
 */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { StoredSession } from "../../runtime/ports/stored-session.ts";
import type { Erasure } from "./erasure.ts";

export interface RetentionLimits {
  /** Days without a message; absent: kept however old. */
  readonly maxAgeDays?: number;
  /** Of the home, its workspace aside; absent: kept however much. */
  readonly maxBytes?: number;
}

export interface RetentionParts {
  readonly store: Pick<Store, "listSessions">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly erasure: Pick<Erasure, "forgetSession">;
  readonly homeBytes: () => Promise<number>;
  /** What is in files of runs that were forgotten. */
  readonly removeRecords: (runs: readonly RunId[]) => Promise<void>;
  /** The rest waits for the next time. */
  readonly isStopping: () => boolean;
}

const ACTOR = "retention";
const DAY_MS = 86_400_000;
/** The home is measured again after so many. */
const MEASURED_EVERY = 20;

/** Resolves to the number of conversations that were forgotten. */
export async function applyRetention(
  parts: RetentionParts,
  { maxAgeDays, maxBytes }: RetentionLimits,
): Promise<number> {
  const { clock, erasure, homeBytes, removeRecords } = parts;
  const cutoffMs = maxAgeDays === undefined ? Number.NEGATIVE_INFINITY : clock.nowMs() - maxAgeDays * DAY_MS;
  let forgotten = 0;
  let kept = 0;
  let isTooMuch = false;
  while (!parts.isStopping()) {
    if (maxBytes !== undefined && (forgotten + kept) % MEASURED_EVERY === 0) isTooMuch = (await homeBytes()) > maxBytes;
    const oldest = await oldestSession(parts.store, kept);
    if (oldest === null || (Date.parse(oldest.activeAt) >= cutoffMs && !isTooMuch)) return forgotten;
    const done = oldest.openRuns > 0 ? null : await erasure.forgetSession(oldest.sessionId, ACTOR);
    if (done?.ok) {
      await removeRecords(done.runs);
      forgotten += 1;
    } else kept += 1;
  }
  return forgotten;
}

/** `skipped`: so many older ones stay. Null: there is no other. */
async function oldestSession(store: RetentionParts["store"], skipped: number): Promise<StoredSession | null> {
  const { total } = await store.listSessions({}, { limit: 1, offset: 0 });
  const offset = total - 1 - skipped;
  return offset < 0 ? null : ((await store.listSessions({}, { limit: 1, offset })).sessions[0] ?? null);
}
