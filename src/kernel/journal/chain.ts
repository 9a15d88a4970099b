/**
 * The hash chain (M-P5.1): `H_n` is the seed's eight fields as one canonical JSON array, SHA-256. H_0 is the hash over
 * the contract hash alone, so an entry cannot be moved under another contract. A transition is stated first and linked
 * later: no decision of a run depends on a hash.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { quote } from "../vocabulary/canonical-json.ts";
import { hashBytes, hashCanonical, hashWire } from "../vocabulary/hash.ts";
import type { Hash, RunId } from "../vocabulary/identifiers.ts";
import type { Labels } from "../vocabulary/labels.ts";
import { canonicalWire } from "../vocabulary/wire-case.ts";
import type { DecidedOf, Entry, EntryKind, EntryOf, Result } from "./entry.ts";
import { ENTRY_FORMAT, encodeEntry, STATE_OF } from "./entry-encoding.ts";

export interface ChainHead {
  readonly seq: number;
  readonly frame: ChainFrame;
  /** The last of them that was linked. */
  readonly linked: { readonly seq: number; readonly hash: Hash };
}

export interface ChainFrame {
  readonly runId: RunId;
  readonly contractHash: Hash;
  readonly adapterVersion: string;
  readonly modelProfileId: string;
  /** Empty until a response names the model behind the profile. */
  readonly modelFingerprint: string;
}

export interface StatementOf<K extends EntryKind> {
  readonly seq: number;
  readonly kind: K;
  readonly ts: string;
  readonly elapsedMs: number;
  readonly stepId: string;
  readonly actor: string;
  readonly labels: Labels;
  readonly decided: DecidedOf<K>;
  readonly result: Result;
}
export type Statement = { [K in EntryKind]: StatementOf<K> }[EntryKind];

/** A statement of the machine's, with all that its entry will repeat. */
export interface TransitionOf<K extends EntryKind> extends StatementOf<K> {
  readonly frame: ChainFrame;
}
export type Transition = { [K in EntryKind]: TransitionOf<K> }[EntryKind];

export function genesisHash(contractHash: Hash): Hash {
  return hashCanonical(contractHash);
}

export function startChain(runId: RunId, contract: ExecutionContract): ChainHead {
  const { contractHash, adapterVersion, modelProfileId } = contract;
  const frame = { runId, contractHash, adapterVersion, modelProfileId, modelFingerprint: "" };
  return { seq: 0, frame, linked: { seq: 0, hash: genesisHash(contractHash) } };
}

/** From here on entries name this model. An empty fingerprint changes nothing. */
export function nameModel(head: ChainHead, modelFingerprint: string): ChainHead {
  if (modelFingerprint === "" || modelFingerprint === head.frame.modelFingerprint) return head;
  return { ...head, frame: { ...head.frame, modelFingerprint } };
}

export interface WrittenEntry<K extends EntryKind> {
  readonly entry: EntryOf<K>;
  /** All of it that does not follow from the rest (entry-encoding.ts). */
  readonly encoded: string;
}

/** Entries as the journal holds them, and the hash of the last. */
export interface Linked {
  readonly entries: readonly Entry[];
  readonly encoded: readonly string[];
  readonly head: Hash;
}

export function linkEntries(prev: Hash, transitions: readonly Transition[]): Linked {
  const entries: Entry[] = [];
  const texts: string[] = [];
  let head = prev;
  for (const transition of transitions) {
    const { entry, encoded } = writeEntry(head, transition);
    entries.push(entry as Entry);
    texts.push(encoded);
    head = entry.hash;
  }
  return { entries, encoded: texts, head };
}

export function writeEntry<K extends EntryKind>(prev: Hash, transition: TransitionOf<K>): WrittenEntry<K> {
  const { seq, kind, ts, elapsedMs, stepId, actor, labels, decided, result, frame } = transition;
  const { runId, contractHash, adapterVersion, modelProfileId, modelFingerprint } = frame;
  const state = STATE_OF[kind];
  const action = actionText({ runId, seq, ts, elapsedMs, stepId, kind, actor, labels, decided });
  const outcome = canonicalWire(result);
  const actionHash = hashBytes(action);
  const resultHash = hashBytes(outcome);
  const link = { prev, contractHash, state, actionHash, resultHash, adapterVersion, modelProfileId, modelFingerprint };
  const hash = hashLink(link);
  const entry: EntryOf<K> = { kind, ts, elapsedMs, stepId, actor, labels, decided, result, ...link, runId, seq, hash };
  return { entry, encoded: encodeEntry(hash, quote(modelFingerprint), action, outcome) };
}

type Action = Pick<
  EntryOf<EntryKind>,
  "runId" | "seq" | "ts" | "elapsedMs" | "stepId" | "kind" | "actor" | "labels"
> & { readonly decided: unknown };

function actionText({ runId, seq, ts, elapsedMs, stepId, kind, actor, labels, decided }: Action): string {
  return canonicalWire({ v: ENTRY_FORMAT, runId, seq, ts, elapsedMs, stepId, kind, actor, labels, decided });
}

export function hashAction(entry: Action): Hash {
  return hashBytes(actionText(entry));
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
