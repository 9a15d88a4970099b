/**
 * Does a run as the store holds it tell one story? Its journal must verify, its contract be the one it was accepted under,
 * the texts that entries name be those that were recorded, and what lists show of it be what its journal says.
 */
import { isBodyOf, refsOf } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Refused } from "../../kernel/journal/read-records.ts";
import { type VerifiedJournal, verifyJournal } from "../../kernel/journal/verify-journal.ts";
import { digestOf, snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findContract } from "../../runtime/run/read-run.ts";

const PAGE = 500;

export async function verifyStoredRun(store: Store, run: StoredRun): Promise<VerifiedJournal | Refused> {
  const { runId, contractHash } = run;
  const lines: string[] = [];
  for (let page = await store.readEntries(runId, 0, PAGE); page.length > 0; ) {
    lines.push(...page);
    page = page.length < PAGE ? [] : await store.readEntries(runId, lines.length, PAGE);
  }
  const verified = verifyJournal(lines.map((line) => `${line}\n`).join(""), { contractHash });
  if (!verified.ok) return verified;
  const { entries } = verified;
  if (findContract(run) === null) return refused(1, "its contract is not the one it was accepted under");
  const changed = await changedText(store, run, entries);
  if (changed !== null) return refused(changed, "a text it names is not the one that was recorded");
  if (!isShownAsItEnded(run, entries)) return refused(entries.length, "what lists show of its end is not what it says");
  return verified;
}

function refused(entry: number, problem: string): Refused {
  return { ok: false, entry, problem };
}

async function changedText(
  store: Store,
  { runId, sessionId }: StoredRun,
  entries: readonly Entry[],
): Promise<number | null> {
  const bodies = await store.readBodies(sessionId, [...new Set(entries.flatMap(refsOf))], runId);
  const isChanged = (ref: BodyRef): boolean => {
    const body = bodies.get(ref);
    return body !== undefined && !isBodyOf(ref, body);
  };
  return entries.find((entry) => refsOf(entry).some(isChanged))?.seq ?? null;
}

/** A run that was sealed because its journal does not replay has no end of its own; the audit of the home finds it. */
function isShownAsItEnded(
  { runId, contractHash, outcome, reason, ended }: StoredRun,
  entries: readonly Entry[],
): boolean {
  if (outcome === null || reason === "machine.diverged") return true;
  const snapshot = snapshotOfEntries(runId, contractHash, entries);
  const isSame = outcome === snapshot.outcome && reason === snapshot.reason && ended !== null;
  const last = entries.at(-1);
  return (
    isSame &&
    ended.toolCalls === snapshot.budget.performed &&
    ended.headHash === snapshot.head &&
    ended.stateDigest === digestOf(snapshot) &&
    ended.durationMs === last?.elapsedMs &&
    ended.labels.integrity === last.labels.integrity &&
    ended.labels.confidentiality === last.labels.confidentiality
  );
}
