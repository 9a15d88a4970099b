/**
 * The stored form of an entry: its hashed texts and the hash of its link, a third shorter than its line, which `lineOf`
 * gives back byte for byte. A changed byte shows as a wrong hash or an invalid line. Canonical JSON has no tabs, so
 * tabs separate the texts. Reading never fails: a text that is not a stored entry is returned unchanged.
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
const ENCODED = /^[0-9a-f]{64}\t/;

/** `model` is the fingerprint as it is quoted; `action` and `result` are what was hashed. */
export function encodeEntry(hash: Hash, model: string, action: string, result: string): string {
  return hash + BETWEEN + model + BETWEEN + action + BETWEEN + result;
}

/** Anything else is a line, or damaged. */
export function isEncodedEntry(text: string): boolean {
  return ENCODED.test(text);
}

/** The hash a stored entry or a line names; for any other text a hash that no entry names. */
export function hashNamedIn(text: string): Hash {
  return isEncodedEntry(text) ? (text.slice(0, HASH_CHARS) as Hash) : (hashInLine(text) ?? hashBytes(text));
}

function hashInLine(line: string): Hash | null {
  try {
    const { hash } = JSON.parse(line) as { readonly hash?: unknown };
    return typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash) ? (hash as Hash) : null;
  } catch {
    return null;
  }
}

/** The fields that all entries of a run share. */
export interface EntryFrame {
  readonly contractHash: Hash;
  readonly adapterVersion: string;
  readonly modelProfileId: string;
}

/** An action's members in their order; the last ones are matched exactly, so no content can imitate them. */
const ACTION = new RegExp(
  String.raw`^\{("actor":"(?:[^"\\]|\\.)*",)("decided":.*,"elapsed_ms":[^,"]+,)("kind":"([^"]+)","labels":\{[^{}]*\},)` +
    String.raw`("run_id":"(?:[^"\\]|\\.)*","seq":\d+,)("step_id":"(?:[^"\\]|\\.)*","ts":"(?:[^"\\]|\\.)*"),"v":${ENTRY_FORMAT}\}$`,
  "s",
);

/** A text that is not a stored entry is returned unchanged. */
export function lineOf(
  { contractHash, adapterVersion, modelProfileId }: EntryFrame,
  prev: Hash,
  encoded: string,
): string {
  const [hash, model, action = "", result, ...more] = encoded.split(BETWEEN);
  const [, who, what, which, kind = "", where, when] = ACTION.exec(action) ?? [];
  if (result === undefined || more.length > 0 || !Object.hasOwn(STATE_OF, kind)) return encoded;
  const state = STATE_OF[kind as keyof typeof STATE_OF];
  return `{"action_hash":"${hashBytes(action)}",${who}"adapter_version":${quote(adapterVersion)},\
"contract_hash":"${contractHash}",${what}"hash":"${hash}",${which}"model_fingerprint":${model},\
"model_profile_id":${quote(modelProfileId)},"prev":"${prev}","result":${result},"result_hash":"${hashBytes(result)}",\
${where}"state":"${state}",${when}}`;
}
