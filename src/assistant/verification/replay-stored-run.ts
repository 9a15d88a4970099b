/** Replays stored runs, and asks what another policy would have decided about their calls. Nothing is performed. */
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findContract, readWholeJournal } from "../../runtime/run/read-run.ts";
import { decideAgain, type OtherDecision, replayRun, whatIf } from "../../runtime/run/replay-run.ts";
import { allRuns } from "./read-all.ts";

export interface ReplayedStoredRun {
  readonly isReproduced: boolean;
  readonly outcome: Outcome | null;
  readonly headHash: Hash;
  readonly recordedHead: Hash | null;
  /** The first entry that differs. */
  readonly divergedAt: number | null;
  /** The calls that the policy would decide otherwise; empty without a policy. */
  readonly others: readonly OtherDecision[];
}

/** Null when the stored contract is not the one the run was accepted under. */
export async function replayStoredRun(
  store: Store,
  run: StoredRun,
  policy: ToolPolicy | null,
): Promise<ReplayedStoredRun | null> {
  const journal = await readWholeJournal(store, run.runId);
  const contract = findContract(run);
  if (contract === null) return null;
  const { divergedAt: differsAt, isReproduced, outcome, headHash } = replayRun(run.runId, contract, journal.entries);
  const divergedAt = journal.ok ? differsAt : journal.badEntry;
  return {
    isReproduced: divergedAt === null && isReproduced && run.outcome === outcome,
    outcome,
    headHash,
    recordedHead: journal.entries.at(-1)?.hash ?? null,
    divergedAt,
    others: policy === null ? [] : whatIf(contract, journal.entries, policy),
  };
}

export interface PolicyTest {
  readonly runs: number;
  readonly calls: number;
  /** The policy says of them something else than the one of that moment did. */
  readonly otherwise: readonly { readonly runId: string; readonly others: readonly OtherDecision[] }[];
  /** Runs whose journal or contract cannot be read whole: some of their calls are unknown. */
  readonly unreadable: readonly string[];
  /** False where a limit left runs out. */
  readonly isComplete: boolean;
}

interface TestLimits {
  /** The newest so many. */
  readonly runs: number;
  readonly signal: AbortSignal | undefined;
}

/** Puts the recorded calls of runs to a policy, newest run first. */
export async function testPolicy(
  store: Store,
  policy: ToolPolicy,
  limits: TestLimits = { runs: Number.POSITIVE_INFINITY, signal: undefined },
): Promise<PolicyTest> {
  const otherwise: { runId: string; others: readonly OtherDecision[] }[] = [];
  const unreadable: string[] = [];
  let [runs, calls] = [0, 0];
  for await (const run of allRuns(store)) {
    if (runs >= limits.runs || limits.signal?.aborted === true) {
      return { runs, calls, otherwise, unreadable, isComplete: false };
    }
    const journal = await readWholeJournal(store, run.runId);
    const contract = findContract(run);
    runs += 1;
    if (!journal.ok || contract === null) unreadable.push(run.runId);
    if (contract === null) continue;
    const others = decideAgain(contract, journal.entries, policy).filter(({ then, now }) => then !== now);
    calls += journal.entries.reduce((sum, { decided }) => sum + ("calls" in decided ? decided.calls.length : 0), 0);
    if (others.length > 0) otherwise.push({ runId: run.runId, others });
  }
  return { runs, calls, otherwise, unreadable, isComplete: true };
}
