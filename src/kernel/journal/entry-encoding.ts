/**
 * An entry as a store keeps it: the texts that were hashed and the hash of its link, behind each other. All else that its
 * line says follows from them, from the contract and from the entry before; a kept entry is a third shorter.
 *
 * E1. `lineOf(keptText(…))` is the line, byte for byte. What was hashed is kept as it was hashed: a changed byte shows in
 *     the line as a hash that is not the entry's, or makes it no line at all.
 * E2. Canonical JSON has neither tabs nor line breaks, so the texts can be told apart without being read.
 * E3. Whatever a store holds can be read: what is no kept entry is its own text, and stands on nothing that stands on it.
 */
import { quote } from "../vocabulary/canonical-json.ts";
import { hashBytes } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";

/** The version of the entry format; under every action hash. */
export const ENTRY_FORMAT = 1;

/** The state that an entry of each kind leaves. The first kind is named for the event, all others for the state. */
export const STATE_OF = {
  "run.created": "PRECHECK",
  INFER: "INFER",
  VALIDATE_CALLS: "VALIDATE_CALLS",
  EXECUTE: "EXECUTE",
  OBSERVE: "OBSERVE",
  COMMIT: "COMMIT",
  TERMINATE: "TERMINATE",
} as const;

const BETWEEN = "\t";
const HASH_CHARS = 64;
const KEPT = /^[0-9a-f]{64}\t/;

/** `model` is the fingerprint as it is quoted; `action` and `result` are what was hashed. */
export function keptText(hash: Hash, model: string, action: string, result: string): string {
  return hash + BETWEEN + model + BETWEEN + action + BETWEEN + result;
}

/** What is none is a line, or damaged. */
export function isKept(text: string): boolean {
  return KEPT.test(text);
}

/** Of a kept entry or a line the hash it names; of anything else one that no entry names. */
export function hashNamedIn(text: string): Hash {
  return isKept(text) ? (text.slice(0, HASH_CHARS) as Hash) : (hashInLine(text) ?? hashBytes(text));
}

function hashInLine(line: string): Hash | null {
  try {
    const { hash } = JSON.parse(line) as { readonly hash?: unknown };
    return typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash) ? (hash as Hash) : null;
  } catch {
    return null;
  }
}

/** What the entries of a run have in common. */
export interface KeptFrame {
  readonly contractHash: Hash;
  readonly adapterVersion: string;
  readonly modelProfileId: string;
}

/** An action's members in their order; of the last ones nothing is left open, so no content can be taken for them. */
const ACTION = new RegExp(
  String.raw`^\{("actor":"(?:[^"\\]|\\.)*",)("decided":.*,"elapsed_ms":[^,"]+,)("kind":"([^"]+)","labels":\{[^{}]*\},)` +
    String.raw`("run_id":"(?:[^"\\]|\\.)*","seq":\d+,)("step_id":"(?:[^"\\]|\\.)*","ts":"(?:[^"\\]|\\.)*"),"v":${ENTRY_FORMAT}\}$`,
  "s",
);

/** Of what is no kept entry, the text itself: no line either. */
export function lineOf({ contractHash, adapterVersion, modelProfileId }: KeptFrame, prev: Hash, kept: string): string {
  const [hash, model, action = "", result, ...more] = kept.split(BETWEEN);
  const [, who, what, which, kind = "", where, when] = ACTION.exec(action) ?? [];
  if (result === undefined || more.length > 0 || !Object.hasOwn(STATE_OF, kind)) return kept;
  const state = STATE_OF[kind as keyof typeof STATE_OF];
  return `{"action_hash":"${hashBytes(action)}",${who}"adapter_version":${quote(adapterVersion)},\
"contract_hash":"${contractHash}",${what}"hash":"${hash}",${which}"model_fingerprint":${model},\
"model_profile_id":${quote(modelProfileId)},"prev":"${prev}","result":${result},"result_hash":"${hashBytes(result)}",\
${where}"state":"${state}",${when}}`;
}
