/**
 * The run bundle: one file that proves a run to whoever has the public key, with nothing else at hand.
 *
 * U1. The signature is over {format, run_id, contract_hash, head}; contract, entries and bodies hang on it by hashes.
 * U2. Only sealed runs are bundled, under their contract's own adapter and profile: the outcome is among what is proven.
 * U3. A ref without a body was erased or withheld: it is listed, and proves nothing against the run.
 * U4. A body that no entry names is refused, so a bundle cannot carry what the run never saw.
 * U5. The layout of the file is free, its meaning is not: duplicate keys and fields of other kinds are refused.
 */
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { openContract } from "../contract/open-contract.ts";
import { canonicalJson } from "../vocabulary/canonical-json.ts";
import { HASH_PATTERN } from "../vocabulary/hash.ts";
import { asBodyRef, type BodyRef, type Hash, type RunId } from "../vocabulary/identifiers.ts";
import type { JsonValue } from "../vocabulary/parse-json.ts";
import { closed } from "../vocabulary/schema-primitives.ts";
import { toWire } from "../vocabulary/spelling.ts";
import { type Body, isBodyOf, refsOf, SALT_PATTERN } from "./body.ts";
import { hasVerified, type Sign, type VerifySignature } from "./checkpoint.ts";
import type { DecidedOf, Entry } from "./entry.ts";
import { parseEntry } from "./journal-lines.ts";
import { decodeText, parseDocument } from "./read-records.ts";
import { verifyEntries } from "./verify-journal.ts";

const BUNDLE_FORMAT = "surety.run-bundle.v1";

/** In the wire's spelling, since a bundle is never anything else. Contract and entries have schemas of their own. */
export const BundleSchema = Type.Object(
  {
    format: Type.Literal(BUNDLE_FORMAT),
    contract: Type.Unknown(),
    entries: Type.Array(Type.Unknown()),
    bodies: Type.Record(
      Type.String({ pattern: HASH_PATTERN }),
      Type.Object({ salt: Type.String({ pattern: SALT_PATTERN }), text: Type.String() }, closed),
      closed,
    ),
    public_key: Type.String(),
    signature: Type.String(),
  },
  closed,
);
const bundleCheck = Compile(BundleSchema);

export interface BundleParts {
  /** The stored document, of whichever version. */
  readonly contract: unknown;
  readonly entries: readonly Entry[];
  /** May hold more than the run names: only what it names is taken. */
  readonly bodies: ReadonlyMap<BodyRef, Body>;
  readonly publicKey: string;
  readonly sign: Sign;
}

export interface BundleRefused {
  readonly ok: false;
  /** The first bad entry, where it is an entry that is bad. */
  readonly entry?: number;
  readonly problem: string;
}

export interface VerifiedBundle {
  readonly ok: true;
  readonly runId: RunId;
  readonly head: Hash;
  readonly outcome: DecidedOf<"TERMINATE">["outcome"];
  /** Refs whose bodies were erased or withheld. */
  readonly erased: readonly BodyRef[];
  /** Whose word this is: the bundle names its own key, so compare it with one you know. */
  readonly publicKey: string;
}

export function makeBundle(parts: BundleParts): { readonly ok: true; readonly text: string } | BundleRefused {
  const named = new Set(parts.entries.flatMap(refsOf));
  const bodies = new Map([...parts.bodies].filter(([ref]) => named.has(ref)));
  const proof = proveRun(parts.contract, parts.entries, bodies);
  if (!proof.ok) return proof;
  const text = canonicalJson({
    format: BUNDLE_FORMAT,
    contract: parts.contract,
    entries: parts.entries.map((entry) => toWire(entry)),
    bodies: Object.fromEntries(bodies),
    public_key: parts.publicKey,
    signature: parts.sign(proof.message),
  });
  return { ok: true, text };
}

export function verifyBundle(
  file: string | Uint8Array,
  { verifySignature }: { readonly verifySignature: VerifySignature },
): VerifiedBundle | BundleRefused {
  const text = typeof file === "string" ? { ok: true as const, value: file } : decodeText(file);
  const parsed = text.ok ? parseDocument(text.value) : text;
  if (!parsed.ok) return parsed;
  const bundle: unknown = parsed.value;
  if (!bundleCheck.Check(bundle)) return { ok: false, problem: `not a bundle as ${BUNDLE_FORMAT} has it` };
  const entries: Entry[] = [];
  for (const document of bundle.entries) {
    const entry = parseEntry(document as JsonValue);
    if (!entry.ok) return { ok: false, entry: entries.length + 1, problem: entry.problem };
    entries.push(entry.value);
  }
  const bodies = new Map(Object.entries(bundle.bodies).map(([ref, body]) => [asBodyRef(ref), body]));
  const proof = proveRun(bundle.contract, entries, bodies);
  if (!proof.ok) return proof;
  if (!hasVerified(verifySignature, bundle.public_key, proof.message, bundle.signature)) {
    return { ok: false, problem: "signature does not match" };
  }
  const { runId, head, outcome, erased } = proof;
  return { ok: true, runId, head, outcome, erased, publicKey: bundle.public_key };
}

/** Everything but the signature, and the message that it must be over. */
function proveRun(document: unknown, entries: readonly Entry[], bodies: ReadonlyMap<BodyRef, Body>) {
  const refuse = (problem: string): BundleRefused => ({ ok: false, problem });
  const opened = openContract(document);
  if (!opened.ok) return refuse(`contract: ${opened.problem}`);
  const { contractHash, adapterVersion, modelProfileId } = opened.contract;
  const verified = verifyEntries(entries, { contractHash });
  if (!verified.ok) return verified;
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return refuse("the run is not sealed");
  // All entries agree on these, so one speaks for all.
  if (last.adapterVersion !== adapterVersion) return { ...refuse("adapter_version is not the contract's"), entry: 1 };
  if (last.modelProfileId !== modelProfileId) return { ...refuse("model_profile_id is not the contract's"), entry: 1 };
  const named = new Set(entries.flatMap(refsOf));
  for (const [ref, body] of bodies) {
    if (!named.has(ref)) return refuse(`body ${ref} is named by no entry`);
    if (!isBodyOf(ref, body)) return refuse(`body ${ref} is not what its ref stands for`);
  }
  const { runId, hash: head } = last;
  return {
    ok: true as const,
    runId,
    head,
    outcome: last.decided.outcome,
    erased: [...named].filter((ref) => !bodies.has(ref)).sort(),
    message: canonicalJson(toWire({ format: BUNDLE_FORMAT, runId, contractHash, head })),
  };
}
