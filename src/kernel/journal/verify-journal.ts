/**
 * Verification of a journal: is every byte as written, and if not, which entry is the first changed one? The machine
 * checks edges beyond run.created, COMMIT and TERMINATE. A chain cannot know that its end was cut off; an anchor can. A
 * clock that went back and a torn tail are reported, not refused; but nothing is ever written after TERMINATE.
 */
import type { Hash } from "../vocabulary/identifiers.ts";
import { genesisHash, hashAction, hashLink, hashResult } from "./chain.ts";
import { type Anchor, findClockRegress, findLostAnchor } from "./chain-checks.ts";
import type { Entry } from "./entry.ts";
import { readJournal } from "./journal-lines.ts";
import type { BadEntry, Refused } from "./read-records.ts";

export interface JournalExpectation {
  readonly contractHash: Hash;
  readonly anchor?: Anchor;
}

export interface VerifiedEntries {
  readonly ok: true;
  readonly head: Hash;
  readonly length: number;
  readonly sealed: boolean;
  /** Strange, but no proof of tampering. */
  readonly flags: readonly BadEntry[];
}

export interface VerifiedJournal extends VerifiedEntries {
  readonly entries: readonly Entry[];
  readonly torn: string | null;
}

export function verifyJournal(file: string | Uint8Array, expected: JournalExpectation): VerifiedJournal | Refused {
  const { entries, torn, bad } = readJournal(file);
  const verified = verify(entries, bad, expected);
  if (!verified.ok) return verified;
  if (verified.sealed && torn !== null) return { ok: false, entry: entries.length + 1, problem: AFTER_THE_END };
  return { ...verified, entries, torn };
}

export function verifyEntries(entries: readonly Entry[], expected: JournalExpectation): VerifiedEntries | Refused {
  return verify(entries, null, expected);
}

function verify(
  entries: readonly Entry[],
  bad: BadEntry | null,
  { contractHash, anchor }: JournalExpectation,
): VerifiedEntries | Refused {
  const genesis = genesisHash(contractHash);
  const broken = findBroken(entries, contractHash) ?? bad ?? findLostAnchor(genesis, entries, anchor);
  if (broken !== null) return { ok: false, ...broken };
  const last = entries.at(-1);
  return {
    ok: true,
    head: last?.hash ?? genesis,
    length: entries.length,
    sealed: last?.kind === "TERMINATE",
    flags: findClockRegress(entries),
  };
}

function findBroken(entries: readonly Entry[], contractHash: Hash): BadEntry | null {
  for (const [index, entry] of entries.entries()) {
    const problem = entryProblem(entry, entries[index - 1] ?? null, entries[0] ?? entry, contractHash);
    if (problem !== null) return { entry: index + 1, problem };
  }
  return null;
}

const AFTER_THE_END = "follows TERMINATE";

/** Of one entry, with the entry before it and the first of all. */
export function entryProblem(entry: Entry, before: Entry | null, first: Entry, contractHash: Hash): string | null {
  const expectedSeq = (before?.seq ?? 0) + 1;
  if (before?.kind === "TERMINATE") return AFTER_THE_END;
  if (entry.seq !== expectedSeq) return `seq is ${entry.seq} instead of ${expectedSeq}`;
  if (entry.contractHash !== contractHash) return "contract_hash is another contract's";
  if (entry.runId !== first.runId) return "run_id is another run's";
  if (entry.adapterVersion !== first.adapterVersion) return "adapter_version changed within the run";
  if (entry.modelProfileId !== first.modelProfileId) return "model_profile_id changed within the run";
  if (entry.prev !== (before?.hash ?? genesisHash(contractHash))) return "prev is not the hash before";
  if (entry.actionHash !== hashAction(entry)) return "action_hash does not match";
  if (entry.resultHash !== hashResult(entry.result)) return "result_hash does not match";
  if (entry.hash !== hashLink(entry)) return "hash does not match";
  return orderProblem(entry, before);
}

function orderProblem({ kind }: Entry, before: Entry | null): string | null {
  if (before === null) return kind === "run.created" ? null : "the first entry is not run.created";
  if (kind === "run.created") return "run.created is not the first entry";
  if (before.kind !== "COMMIT") return kind === "TERMINATE" ? "TERMINATE does not follow COMMIT" : null;
  const { next } = before.decided;
  return AFTER_COMMIT[next].includes(kind) ? null : `COMMIT said next ${next}`;
}

/** A defect of ours ends a turn at once, before its inference is recorded. */
const AFTER_COMMIT: Readonly<Record<"INFER" | "TERMINATE", readonly Entry["kind"][]>> = {
  INFER: ["INFER", "COMMIT"],
  TERMINATE: ["TERMINATE"],
};
