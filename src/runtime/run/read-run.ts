/**
 * Reads a stored run: contract, entries, folded state and bodies.
 *
 * The journal is folded by the machine that made it; a run whose journal differs, or is not under its contract, is not acted
 * on. A body that does not match its ref counts as erased; `surety verify` and an export name it.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import { openContract } from "../../kernel/contract/open-contract.ts";
import { type Body, isBodyOf, refsOf } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { parseLine } from "../../kernel/journal/journal-lines.ts";
import { foldRun } from "../../kernel/machine/fold.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import type { Store, StoredRun } from "../ports/store.ts";

const PAGE = 256;

export type Journal =
  | { readonly ok: true; readonly entries: readonly Entry[] }
  | { readonly ok: false; readonly entries: readonly Entry[]; readonly badEntry: number; readonly problem: string };

export async function readWholeJournal(store: Pick<Store, "readEntries">, runId: RunId): Promise<Journal> {
  const entries: Entry[] = [];
  for (;;) {
    const page = await readJournal(store, runId, entries.length, PAGE);
    entries.push(...page.entries);
    if (!page.ok) return { ...page, entries };
    if (page.entries.length < PAGE) return { ok: true, entries };
  }
}

/** At most `limit` entries after `after`. */
export async function readJournal(
  store: Pick<Store, "readEntries">,
  runId: RunId,
  after: number,
  limit: number,
): Promise<Journal> {
  const entries: Entry[] = [];
  for (const line of await store.readEntries(runId, after, limit)) {
    const parsed = parseLine(line);
    if (!parsed.ok) return { ok: false, entries, badEntry: after + entries.length + 1, problem: parsed.problem };
    entries.push(parsed.value);
  }
  return { ok: true, entries };
}

export function contractOf(run: Pick<StoredRun, "contract" | "contractHash">): ExecutionContract {
  const contract = findContract(run);
  if (contract === null) throw new Defect("read-run: the stored contract cannot be opened");
  return contract;
}

/** Null unless it is the contract the run was accepted under. */
export function findContract({
  contract,
  contractHash,
}: Pick<StoredRun, "contract" | "contractHash">): ExecutionContract | null {
  const parsed = parseJson(contract);
  const opened = parsed.ok ? openContract(parsed.value) : parsed;
  return opened.ok && opened.contract.contractHash === contractHash ? opened.contract : null;
}

export type Restored =
  | { readonly ok: true; readonly entries: readonly Entry[]; readonly state: RunState }
  | { readonly ok: false; readonly entries: readonly Entry[]; readonly divergedAt: number };

export async function restoreRun(store: Store, run: StoredRun): Promise<Restored> {
  const journal = await readWholeJournal(store, run.runId);
  if (!journal.ok) return { ok: false, entries: journal.entries, divergedAt: journal.badEntry };
  const { entries } = journal;
  const contract = findContract(run);
  if (contract === null) return { ok: false, entries, divergedAt: 1 };
  const folded = foldRun(run.runId, contract, entries);
  if (!folded.ok) return { ok: false, entries, divergedAt: folded.divergedAt };
  return { ok: true, entries, state: folded.state };
}

/** The bodies that the entries name, and others. */
export function readBodiesOf(
  store: Store,
  { runId, sessionId }: Pick<StoredRun, "runId" | "sessionId">,
  entries: readonly Entry[],
  others: readonly BodyRef[] = [],
): Promise<ReadonlyMap<BodyRef, Body>> {
  return readBodies(store, sessionId, [...new Set([...entries.flatMap(refsOf), ...others])], runId);
}

export async function readBodies(
  store: Pick<Store, "readBodies">,
  ...wanted: Parameters<Store["readBodies"]>
): Promise<ReadonlyMap<BodyRef, Body>> {
  const found = await store.readBodies(...wanted);
  return new Map([...found].filter(([ref, body]) => isBodyOf(ref, body)));
}
