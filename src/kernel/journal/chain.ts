/**
 * The hash chain (M-P5.1): `H_n` is the seed's eight fields as one canonical JSON array, SHA-256.
 *
 * K1. actionHash = H({v, run_id, seq, ts, elapsed_ms, step_id, kind, actor, labels, decided}); resultHash = H(result).
 * K2. H_0 is `genesisHash`.
 * K3. `writeEntry` is the only way an entry comes to be. What is kept of it are the texts that were hashed: nothing is
 *     written twice, for writing takes longer than hashing.
 * K4. A transition is stated first and linked later: nothing that a run does next depends on its hash.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { quote } from "../vocabulary/canonical-json.ts";
import { hashBytes, hashWire } from "../vocabulary/hash.ts";
import type { Hash, RunId } from "../vocabulary/identifiers.ts";
import type { Labels } from "../vocabulary/labels.ts";
import type { DecidedOf, Entry, EntryKind, EntryOf, Result } from "./entry.ts";
import { ENTRY_FORMAT, keptText } from "./entry-encoding.ts";
import { decidedText, resultText } from "./entry-texts.ts";
import { genesisHash } from "./genesis-hash.ts";
import { STATE_OF } from "./state-of.ts";

/** Where a run's journal stands. */
export interface ChainHead {
  /** Of the last transition. */
  readonly seq: number;
  readonly frame: ChainFrame;
  /** The last of them that was linked. */
  readonly linked: { readonly seq: number; readonly hash: Hash };
}

/** What every entry of a run repeats. */
export interface ChainFrame {
  readonly runId: RunId;
  readonly contractHash: Hash;
  readonly adapterVersion: string;
  readonly modelProfileId: string;
  /** Empty until a response names the model behind the profile. */
  readonly modelFingerprint: string;
  readonly texts: FrameTexts;
}

/** The same as it stands in what is hashed, written once a run, with the commas around it. */
interface FrameTexts {
  readonly run: string;
  readonly model: string;
  readonly linkContract: string;
  readonly linkModel: string;
}

/** What an entry says, linked or not. */
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

export function startChain(runId: RunId, contract: ExecutionContract): ChainHead {
  const { contractHash, adapterVersion, modelProfileId } = contract;
  const frame = frameOf({ runId, contractHash, adapterVersion, modelProfileId, modelFingerprint: "" });
  return { seq: 0, frame, linked: { seq: 0, hash: genesisHash(contractHash) } };
}

/** From here on entries name this model, unless nobody knows which it is. */
export function nameModel(head: ChainHead, modelFingerprint: string): ChainHead {
  const { frame } = head;
  if (modelFingerprint === "" || modelFingerprint === frame.modelFingerprint) return head;
  return { ...head, frame: frameOf({ ...frame, modelFingerprint }) };
}

export function frameOf(named: Omit<ChainFrame, "texts">): ChainFrame {
  const { runId, contractHash, adapterVersion, modelProfileId, modelFingerprint } = named;
  const [adapter, profile, model] = [quote(adapterVersion), quote(modelProfileId), quote(modelFingerprint)];
  const texts = {
    run: `"run_id":${quote(runId)},"seq":`,
    model,
    linkContract: `,"${contractHash}",`,
    linkModel: `,${adapter},${profile},${model}]`,
  };
  return { runId, contractHash, adapterVersion, modelProfileId, modelFingerprint, texts };
}

export interface WrittenEntry<K extends EntryKind> {
  readonly entry: EntryOf<K>;
  /** All of it that does not follow from the rest (entry-encoding.ts). */
  readonly kept: string;
}

/** Entries as the journal holds them, and the hash of the last. */
export interface Linked {
  readonly entries: readonly Entry[];
  readonly kept: readonly string[];
  readonly head: Hash;
}

export function linkEntries(prev: Hash, transitions: readonly Transition[]): Linked {
  const entries: Entry[] = [];
  const texts: string[] = [];
  let head = prev;
  for (const transition of transitions) {
    const { entry, kept } = writeEntry(head, transition);
    entries.push(entry as Entry);
    texts.push(kept);
    head = entry.hash;
  }
  return { entries, kept: texts, head };
}

/**
 * Members stand in the order of RFC 8785: spelled out, they need no sorting. Hashes, kinds, states and labels hold nothing
 * that would have to be escaped.
 */
export function writeEntry<K extends EntryKind>(prev: Hash, transition: TransitionOf<K>): WrittenEntry<K> {
  const { seq, kind, ts, elapsedMs, stepId, actor, labels, decided, result, frame } = transition;
  const { runId, contractHash, adapterVersion, modelProfileId, modelFingerprint, texts } = frame;
  const state = STATE_OF[kind];
  const outcome = result === null ? NO_RESULT : resultText(result);
  const action = `{"actor":${quote(actor)},"decided":${decidedText(kind, decided)},"elapsed_ms":${elapsedMs},"kind":"${kind}",\
"labels":{"confidentiality":"${labels.confidentiality}","integrity":"${labels.integrity}"},${texts.run}${seq},\
"step_id":${quote(stepId)},"ts":${quote(ts)},"v":${ENTRY_FORMAT}}`;
  const actionHash = hashBytes(action);
  const resultHash = result === null ? NO_RESULT_HASH : hashBytes(outcome);
  const hash = hashBytes(`["${prev}"${texts.linkContract}"${state}","${actionHash}","${resultHash}"${texts.linkModel}`);
  const entry: EntryOf<K> = {
    kind,
    ts,
    elapsedMs,
    stepId,
    actor,
    labels,
    decided,
    result,
    prev,
    contractHash,
    state,
    actionHash,
    resultHash,
    adapterVersion,
    modelProfileId,
    modelFingerprint,
    runId,
    seq,
    hash,
  };
  return { entry, kept: keptText(hash, texts.model, action, outcome) };
}

const NO_RESULT = "null";
const NO_RESULT_HASH = hashBytes(NO_RESULT);

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
