/**
 * Verifies a stored run: its journal, that its contract is the one it was accepted under, that the texts its entries name
 * are there and unchanged unless they were erased, and that its list row agrees with its journal.
 */
import { type Body, isBodyOf, refsOf } from "../../kernel/journal/body.ts";
import { type Entry, eventsOf } from "../../kernel/journal/entry.ts";
import type { EventOf, RunEvent } from "../../kernel/journal/event.ts";
import type { LedgerEntry } from "../../kernel/journal/ledger.ts";
import type { Refused } from "../../kernel/journal/read-records.ts";
import { type VerifiedJournal, verifyJournal } from "../../kernel/journal/verify-journal.ts";
import { digestOf, snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import { terminalStatus } from "../../kernel/vocabulary/outcome.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findAcceptance, openingRefs } from "../../runtime/run/acceptance.ts";
import { findContract } from "../../runtime/run/read-run.ts";
import { readAll } from "./read-all.ts";

/** What was erased on purpose, as the ledger says. */
export type FindErased = () => Promise<ReadonlySet<BodyRef>>;

export interface VerifiedRun extends VerifiedJournal {
  /** Those that its entries name and that were not erased. */
  readonly bodies: ReadonlyMap<BodyRef, Body>;
  /** Texts that its entries name, and that were removed on purpose. */
  readonly erased: readonly BodyRef[];
}

export async function verifyStoredRun(
  store: Store,
  run: StoredRun,
  findErased: FindErased = () => readErased(store),
): Promise<VerifiedRun | Refused> {
  const { runId, contractHash } = run;
  const lines = await readAll((offset, limit) => store.readEntries(runId, offset, limit));
  const verified = verifyJournal(lines.map((line) => `${line}\n`).join(""), { contractHash });
  if (!verified.ok) return verified;
  const { entries } = verified;
  if (findContract(run) === null) return refused(1, "its contract is not the one it was accepted under");
  const bodies = await store.readBodies(run.sessionId, [...new Set(entries.flatMap(refsOf))], runId);
  const texts = await verifyTexts(store, run, entries, bodies, findErased);
  if ("problem" in texts) return texts;
  if (!(await isRowAsJournal(store, run, entries))) {
    return refused(entries.length, "its list row does not match its journal");
  }
  return { ...verified, bodies, erased: texts.erased };
}

export function erasedIn(ledger: readonly LedgerEntry[]): ReadonlySet<BodyRef> {
  return new Set(ledger.flatMap((entry) => (entry.kind === "body.erased" ? entry.data.refs : [])));
}

async function readErased(store: Store): Promise<ReadonlySet<BodyRef>> {
  return erasedIn(await readAll((offset, limit) => store.readLedger(offset, limit)));
}

function refused(entry: number, problem: string): Refused {
  return { ok: false, entry, problem };
}

/** Which texts were erased, or the first entry that names one which was changed, or which is gone and was not erased. */
async function verifyTexts(
  store: Store,
  { sessionId, answerRef, accepted }: StoredRun,
  entries: readonly Entry[],
  bodies: ReadonlyMap<BodyRef, Body>,
  findErased: FindErased,
): Promise<Pick<VerifiedRun, "erased"> | Refused> {
  const refs = [...new Set(entries.flatMap(refsOf))];
  // Later runs of the session read the message and the answer without this run.
  const told = [messageRefOf(entries[0]), answerRef].filter((ref) => ref !== null);
  const prompt = promptRefs(accepted);
  const shared = await store.readBodies(sessionId, [...new Set([...told, ...prompt])], null);
  const isMissing = refs.some((ref) => !bodies.has(ref)) || [...told, ...prompt].some((ref) => !shared.has(ref));
  const erased = isMissing ? await findErased() : new Set<BodyRef>();
  const isLost = (ref: BodyRef): boolean =>
    !erased.has(ref) && (!bodies.has(ref) || (told.includes(ref) && !shared.has(ref)));
  const isChanged = (ref: BodyRef): boolean =>
    [bodies.get(ref), shared.get(ref)].some((body) => body !== undefined && !isBodyOf(ref, body));
  // An erasure does not name what was made of the texts it removed.
  if (prompt.some((ref) => isChanged(ref) || (!shared.has(ref) && erased.size === 0))) {
    return refused(1, "a text of its prompt is missing or was changed");
  }
  for (const entry of entries) {
    const named = refsOf(entry);
    if (named.some(isLost)) return refused(entry.seq, "a text it names is missing");
    if (named.some(isChanged)) return refused(entry.seq, "a text it names was changed");
  }
  return { erased: refs.filter((ref) => !bodies.has(ref)) };
}

/** Texts that its prompt began with, beside the system's: the message, and what was said before. */
function promptRefs(accepted: string): readonly BodyRef[] {
  const acceptance = findAcceptance(accepted);
  return acceptance === null ? [] : openingRefs(acceptance);
}

function messageRefOf(first: Entry | undefined): BodyRef | null {
  return first?.kind === "run.created" ? first.decided.messageRef : null;
}

/** A run may end while it is verified: then its row is newer than the one that was given. */
async function isRowAsJournal(store: Store, run: StoredRun, entries: readonly Entry[]): Promise<boolean> {
  if (isRowConsistent(run, entries)) return true;
  const now = await store.findRun(run.runId);
  return now !== null && isRowConsistent(now, entries);
}

function isRowConsistent(run: StoredRun, entries: readonly Entry[]): boolean {
  const last = entries.at(-1);
  const { runId, contractHash, outcome, reason, ended, status } = run;
  const accepted = entries[0]?.kind === "run.created" ? eventsOf(entries[0]).find(isAccepted) : undefined;
  const isOfItsOwner = accepted === undefined || accepted.agentId === run.agentId;
  if (!isOfItsOwner || (accepted !== undefined && accepted.sessionId !== run.sessionId)) return false;
  const isSealed = last?.kind === "TERMINATE";
  if (outcome === null) return !isSealed && ended === null && run.endedAt === null;
  if (status !== terminalStatus(outcome)) return false;
  // A run sealed because its journal does not replay has no last entry; the audit of the home finds it.
  if (reason === "machine.diverged" && !isSealed) return true;
  if (!isSealed || ended === null) return false;
  const snapshot = snapshotOfEntries(runId, contractHash, entries);
  return (
    outcome === snapshot.outcome &&
    reason === snapshot.reason &&
    run.endedAt === last.ts &&
    run.answerRef === (last.result?.type === "run.answered" ? last.result.ref : null) &&
    ended.toolCalls === snapshot.budget.performed &&
    ended.headHash === snapshot.head &&
    ended.stateDigest === digestOf(snapshot) &&
    ended.durationMs === last.elapsedMs &&
    ended.labels.integrity === last.labels.integrity &&
    ended.labels.confidentiality === last.labels.confidentiality
  );
}

function isAccepted(event: RunEvent): event is EventOf<"run.accepted"> {
  return event.type === "run.accepted";
}
