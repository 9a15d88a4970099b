/**
 * Verifies a stored run: its journal, that its contract is the one it was accepted under, that the texts its entries name
 * are unchanged, and that its list row agrees with its journal.
 */
import { isBodyOf, refsOf } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Refused } from "../../kernel/journal/read-records.ts";
import { type VerifiedJournal, verifyJournal } from "../../kernel/journal/verify-journal.ts";
import { digestOf, snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findContract } from "../../runtime/run/read-run.ts";
import { readAll } from "./read-all.ts";

export async function verifyStoredRun(store: Store, run: StoredRun): Promise<VerifiedJournal | Refused> {
  const { runId, contractHash } = run;
  const lines = await readAll((offset, limit) => store.readEntries(runId, offset, limit));
  const verified = verifyJournal(lines.map((line) => `${line}\n`).join(""), { contractHash });
  if (!verified.ok) return verified;
  const { entries } = verified;
  if (findContract(run) === null) return refused(1, "its contract is not the one it was accepted under");
  const changed = await changedText(store, run, entries);
  if (changed !== null) return refused(changed, "a text it names was changed");
  if (!isRowConsistent(run, entries)) return refused(entries.length, "its list row does not match its journal");
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

/** A run sealed because its journal does not replay has no TERMINATE entry; the audit of the home finds it. */
function isRowConsistent(
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
