/**
 * The hash chain (M-P5.1): `H_n` is the seed's eight fields as one canonical JSON array, SHA-256.
 *
 * K1. actionHash = H({v, run_id, seq, ts, elapsed_ms, step_id, kind, actor, labels, decided}); resultHash = H(result).
 * K2. H_0 = H(contract_hash), so an entry cannot be moved under another contract.
 * K3. `appendEntry` is the only way an entry comes to be.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { hashCanonical, hashWire } from "../vocabulary/hash.ts";
import type { Hash, RunId } from "../vocabulary/identifiers.ts";
import type { Labels } from "../vocabulary/labels.ts";
import { type DecidedOf, type EntryKind, type EntryOf, type Result, STATE_OF } from "./entry.ts";

/** The version of the entry format; under every action hash. */
export const ENTRY_FORMAT = 1;

/** Where a run's chain stands, and what every entry of it repeats. */
export interface ChainHead {
  readonly runId: RunId;
  readonly seq: number;
  readonly hash: Hash;
  readonly contractHash: Hash;
  readonly adapterVersion: string;
  readonly modelProfileId: string;
  /** Empty until a response names the model behind the profile. */
  readonly modelFingerprint: string;
}

export interface EntryDraft<K extends EntryKind> {
  readonly kind: K;
  readonly ts: string;
  readonly elapsedMs: number;
  readonly stepId: string;
  readonly actor: string;
  readonly labels: Labels;
  readonly decided: DecidedOf<K>;
  readonly result: Result;
}

export function genesisHash(contractHash: Hash): Hash {
  return hashCanonical(contractHash);
}

export function startChain(runId: RunId, contract: ExecutionContract): ChainHead {
  return {
    runId,
    seq: 0,
    hash: genesisHash(contract.contractHash),
    contractHash: contract.contractHash,
    adapterVersion: contract.adapterVersion,
    modelProfileId: contract.modelProfileId,
    modelFingerprint: "",
  };
}

export function appendEntry<K extends EntryKind>(head: ChainHead, draft: EntryDraft<K>): EntryOf<K> {
  const unlinked = {
    ...draft,
    runId: head.runId,
    seq: head.seq + 1,
    state: STATE_OF[draft.kind],
    contractHash: head.contractHash,
    adapterVersion: head.adapterVersion,
    modelProfileId: head.modelProfileId,
    modelFingerprint: head.modelFingerprint,
    prev: head.hash,
  };
  const actionHash = hashAction(unlinked);
  const resultHash = hashResult(draft.result);
  return { ...unlinked, actionHash, resultHash, hash: hashLink({ ...unlinked, actionHash, resultHash }) };
}

export function advance(head: ChainHead, entry: { readonly seq: number; readonly hash: Hash }): ChainHead {
  return { ...head, seq: entry.seq, hash: entry.hash };
}

type Action = Pick<
  EntryOf<EntryKind>,
  "runId" | "seq" | "ts" | "elapsedMs" | "stepId" | "kind" | "actor" | "labels"
> & { readonly decided: unknown };

export function hashAction(entry: Action): Hash {
  const { runId, seq, ts, elapsedMs, stepId, kind, actor, labels, decided } = entry;
  return hashWire({ v: ENTRY_FORMAT, runId, seq, ts, elapsedMs, stepId, kind, actor, labels, decided });
}

export function hashResult(result: unknown): Hash {
  return hashWire(result);
}

type Link = Pick<
  EntryOf<EntryKind>,
  | "prev"
  | "contractHash"
  | "state"
  | "actionHash"
  | "resultHash"
  | "adapterVersion"
  | "modelProfileId"
  | "modelFingerprint"
>;

export function hashLink(entry: Link): Hash {
  return hashCanonical([
    entry.prev,
    entry.contractHash,
    entry.state,
    entry.actionHash,
    entry.resultHash,
    entry.adapterVersion,
    entry.modelProfileId,
    entry.modelFingerprint,
  ]);
}
