/**
 * The hash chain (M-P5.1): `H_n` is the seed's eight fields as one canonical JSON array, SHA-256.
 *
 * K1. actionHash = H({v, run_id, seq, ts, elapsed_ms, step_id, kind, actor, labels, decided}); resultHash = H(result).
 * K2. H_0 = H(contract_hash), so an entry cannot be moved under another contract.
 * K3. `writeEntry` is the only way an entry comes to be. Its line is made of the texts that were hashed: nothing is
 *     written twice, for writing takes longer than hashing.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { quote } from "../vocabulary/canonical-json.ts";
import { hashBytes, hashCanonical, hashWire } from "../vocabulary/hash.ts";
import type { Hash, RunId } from "../vocabulary/identifiers.ts";
import type { Labels } from "../vocabulary/labels.ts";
import { canonicalWire } from "../vocabulary/spelling.ts";
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

export interface WrittenEntry<K extends EntryKind> {
  readonly entry: EntryOf<K>;
  /** What `toLine` of it says. */
  readonly line: string;
}

export function writeEntry<K extends EntryKind>(head: ChainHead, draft: EntryDraft<K>): WrittenEntry<K> {
  const { runId, contractHash, adapterVersion, modelProfileId, modelFingerprint, hash: prev } = head;
  const { result } = draft;
  const seq = head.seq + 1;
  const state = STATE_OF[draft.kind];
  const texts = {
    decided: canonicalWire(draft.decided),
    labels: canonicalWire(draft.labels),
    result: result === null ? NO_RESULT : canonicalWire(result),
  };
  const actionHash = hashBytes(actionText(runId, seq, draft, texts));
  const resultHash = result === null ? NO_RESULT_HASH : hashBytes(texts.result);
  const link = { prev, contractHash, state, actionHash, resultHash, adapterVersion, modelProfileId, modelFingerprint };
  const entry: EntryOf<K> = { ...draft, ...link, runId, seq, hash: hashLink(link) };
  return { entry, line: lineText(entry, texts) };
}

const NO_RESULT = "null";
const NO_RESULT_HASH = hashBytes(NO_RESULT);

interface Texts {
  readonly decided: string;
  readonly labels: string;
  readonly result: string;
}

/** What `hashAction` hashes. Members stand in the order of RFC 8785, here and below: spelled out, they need no sorting. */
function actionText(runId: RunId, seq: number, draft: EntryDraft<EntryKind>, { decided, labels }: Texts): string {
  const { actor, elapsedMs, kind, stepId, ts } = draft;
  return `{"actor":${quote(actor)},"decided":${decided},"elapsed_ms":${elapsedMs},"kind":"${kind}","labels":${labels},\
"run_id":${quote(runId)},"seq":${seq},"step_id":${quote(stepId)},"ts":${quote(ts)},"v":${ENTRY_FORMAT}}`;
}

/** What `toLine` writes. */
function lineText(entry: EntryOf<EntryKind>, { decided, labels, result }: Texts): string {
  const { actionHash, actor, adapterVersion, contractHash, elapsedMs, hash, kind } = entry;
  const { modelFingerprint, modelProfileId, prev, resultHash, runId, seq, state, stepId, ts } = entry;
  return `{"action_hash":"${actionHash}","actor":${quote(actor)},"adapter_version":${quote(adapterVersion)},\
"contract_hash":"${contractHash}","decided":${decided},"elapsed_ms":${elapsedMs},"hash":"${hash}","kind":"${kind}",\
"labels":${labels},"model_fingerprint":${quote(modelFingerprint)},"model_profile_id":${quote(modelProfileId)},\
"prev":"${prev}","result":${result},"result_hash":"${resultHash}","run_id":${quote(runId)},"seq":${seq},\
"state":"${state}","step_id":${quote(stepId)},"ts":${quote(ts)}}`;
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

export function hashLink(link: Link): Hash {
  const { prev, contractHash, state, actionHash, resultHash } = link;
  const { adapterVersion, modelProfileId, modelFingerprint } = link;
  // Hashes and states hold nothing that would have to be escaped.
  return hashBytes(
    `["${prev}","${contractHash}","${state}","${actionHash}","${resultHash}",\
${quote(adapterVersion)},${quote(modelProfileId)},${quote(modelFingerprint)}]`,
  );
}
