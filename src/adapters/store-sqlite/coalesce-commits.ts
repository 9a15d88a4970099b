/**
 * Commits that were given one by one, as they are sent: packed, and of each run its lazy ones joined with what follows.
 *
 * G1. What is to be written is asked for here and not before: a run's entries are put into words when there is time.
 * G2. A commit of which that fails is refused alone.
 */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { CommitResult, Urgency, Write } from "../../runtime/ports/store.ts";
import { isAppend, joinAppends, type PackedWrite, pack } from "./packed-writes.ts";

export interface Waiting {
  resolve(result: CommitResult): void;
  reject(error: unknown): void;
}

export interface GivenCommit extends Waiting {
  readonly writes: readonly Write[];
  readonly urgency: Urgency;
}

/** What goes into the database as one; several have waited for it where their commits were joined. */
export interface Gathered {
  writes: readonly PackedWrite[];
  readonly waiting: Waiting[];
}

export function gatherCommits(given: readonly GivenCommit[]): readonly Gathered[] {
  const gathered: Gathered[] = [];
  /** The last lazy commit of each run: the run's next one may join it. */
  const open = new Map<RunId, Gathered>();
  for (const commit of given) {
    const writes = packOrRefuse(commit);
    if (writes === null) continue;
    const runId = runOf(writes);
    const last = joinOrAdd(gathered, runId === null ? undefined : open.get(runId), writes);
    // Not the commit itself: what was sent is not held until it is answered.
    const { resolve, reject } = commit;
    last.waiting.push({ resolve, reject });
    if (runId === null) continue;
    if (commit.urgency === "lazy") open.set(runId, last);
    else open.delete(runId);
  }
  return gathered;
}

function packOrRefuse({ writes, reject }: GivenCommit): readonly PackedWrite[] | null {
  try {
    return pack(writes);
  } catch (error) {
    reject(error);
    return null;
  }
}

function runOf([first]: readonly PackedWrite[]): RunId | null {
  return first !== undefined && isAppend(first) ? first[0] : null;
}

function joinOrAdd(gathered: Gathered[], earlier: Gathered | undefined, writes: readonly PackedWrite[]): Gathered {
  const joined = earlier === undefined ? null : joinAppends(earlier.writes, writes);
  if (earlier !== undefined && joined !== null) {
    earlier.writes = joined;
    return earlier;
  }
  const added = { writes, waiting: [] };
  gathered.push(added);
  return added;
}
