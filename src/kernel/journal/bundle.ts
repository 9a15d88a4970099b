/**
 * The run bundle (X-3): one file that proves a sealed run, given only the public key. The signature is over {format,
 * run_id, contract_hash, head}; contract, entries and bodies follow by their hashes. A ref without a body was erased or
 * withheld: it is listed, and proves nothing against the run. A body that no entry names is refused, so a bundle
 * carries no foreign content. `events` are the lifecycle events (O-2.1): they must be what the entries say. Bundles of
 * before contracts 1.19.0 have none.
 *
 * U6. A refusal names the damaged entry, or the one the damage belongs to: for a body the first that names it, for the
 *      contract the first of all, which names its hash; for an event the one it tells of; for format, key and signature the last, whose hash is signed.
 */

import { Type } from "typebox";
import { schemaCheck } from "#schema-check";
import { openContract } from "../contract/open-contract.ts";
import { canonicalJson } from "../vocabulary/canonical-json.ts";
import { HASH_PATTERN } from "../vocabulary/hash.ts";
import { asBodyRef, type BodyRef, type Hash, type RunId } from "../vocabulary/identifiers.ts";
import type { JsonValue } from "../vocabulary/parse-json.ts";
import { closed } from "../vocabulary/schema-primitives.ts";
import { canonicalWire, toWire } from "../vocabulary/wire-case.ts";
import { type Body, isBodyOf, refsOf, SALT_PATTERN } from "./body.ts";
import { hasVerified, type Sign, type VerifySignature } from "./checkpoint.ts";
import type { DecidedOf, Entry } from "./entry.ts";
import { parseEntry } from "./journal-lines.ts";
import { entryAt } from "./locate-damage.ts";
import { type Refused, readDocument } from "./read-records.ts";
import { verifyEntries } from "./verify-journal.ts";
import { lifecycleEvent, lifecycleEvents } from "./views/lifecycle-events.ts";
import { runTimeline } from "./views/run-timeline.ts";

const BUNDLE_FORMAT = "surety.run-bundle.v1";

/** In wire spelling only. Contract, entries and events have schemas of their own. */
export const BundleSchema = Type.Object(
  {
    format: Type.Literal(BUNDLE_FORMAT),
    contract: Type.Unknown(),
    entries: Type.Array(Type.Unknown()),
    events: Type.Optional(Type.Array(Type.Unknown())),
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
const bundleCheck = schemaCheck(BundleSchema);

export interface BundleParts {
  /** The stored document, of whichever version. */
  readonly contract: unknown;
  readonly entries: readonly Entry[];
  /** May hold more than the run names: only what it names is taken. */
  readonly bodies: ReadonlyMap<BodyRef, Body>;
  readonly publicKey: string;
  readonly sign: Sign;
}

/** `entry` as in U6; 1 without entries. */
export type BundleRefused = Refused;

export interface VerifiedBundle {
  readonly ok: true;
  readonly runId: RunId;
  readonly head: Hash;
  readonly outcome: DecidedOf<"TERMINATE">["outcome"];
  readonly erased: readonly BodyRef[];
  /** The signer: the bundle names its own key, so compare it with one you trust. */
  readonly publicKey: string;
}

export function makeBundle(parts: BundleParts): { readonly ok: true; readonly text: string } | BundleRefused {
  const named = namedBy(parts.entries);
  const bodies = new Map([...parts.bodies].filter(([ref]) => named.has(ref)));
  const proof = proveRun(parts.contract, parts.entries, bodies);
  if (!proof.ok) return proof;
  const text = canonicalJson({
    format: BUNDLE_FORMAT,
    contract: parts.contract,
    entries: parts.entries.map((entry) => toWire(entry)),
    events: [...lifecycleEvents(parts.entries)],
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
  const parsed = readDocument(file);
  if (!parsed.ok) return { ok: false, entry: entryAt(parsed.text, parsed.at), problem: parsed.problem };
  const bundle: unknown = parsed.value;
  if (!bundleCheck.accepts(bundle)) return refuseShape(bundle);
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
    return { ok: false, entry: entries.length, problem: "signature does not match" };
  }
  const wrongEvent = bundle.events === undefined ? null : findWrongEvent(bundle.events, entries);
  if (wrongEvent !== null) return wrongEvent;
  const { runId, head, outcome, erased } = proof;
  return { ok: true, runId, head, outcome, erased, publicKey: bundle.public_key };
}

/** The part that does not verify, and the entry it belongs to. */
function refuseShape(bundle: unknown): BundleRefused {
  const parts: Readonly<Record<string, unknown>> = typeof bundle === "object" ? { ...bundle } : {};
  const required: readonly string[] = BundleSchema.required;
  const field = Object.entries(BundleSchema.properties).find(([name, schema]) =>
    Object.hasOwn(parts, name) ? !schemaCheck(schema).accepts(parts[name]) : required.includes(name),
  )?.[0];
  const entries = Array.isArray(parts["entries"]) ? parts["entries"] : [];
  const problem = `not a bundle as ${BUNDLE_FORMAT} has it${field === undefined ? "" : `: ${field}`}`;
  return { ok: false, entry: Math.max(1, entryOfPart(field, parts["bodies"], entries)), problem };
}

function entryOfPart(field: string | undefined, bodies: unknown, entries: readonly unknown[]): number {
  if (field === "contract" || field === "entries") return 1;
  if (field !== "bodies" || typeof bodies !== "object" || bodies === null) return entries.length;
  const bodyCheck = schemaCheck(BundleSchema.properties.bodies);
  const bad = Object.entries(bodies).find(([ref, body]) => !bodyCheck.accepts({ [ref]: body }))?.[0];
  return 1 + entries.findIndex((entry) => bad !== undefined && canonicalJson(entry).includes(`"${bad}"`));
}

/** Everything but the signature, and the message that it must be over. */
function proveRun(document: unknown, entries: readonly Entry[], bodies: ReadonlyMap<BodyRef, Body>) {
  const refuse = (entry: number, problem: string): BundleRefused => ({ ok: false, entry, problem });
  const opened = openContract(document);
  if (!opened.ok) return refuse(1, `contract: ${opened.problem}`);
  const { contractHash, adapterVersion, modelProfileId } = opened.contract;
  const verified = verifyEntries(entries, { contractHash });
  if (!verified.ok) return verified;
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return refuse(Math.max(1, entries.length), "the run is not sealed");
  // The same in all entries.
  if (last.adapterVersion !== adapterVersion) return refuse(1, "adapter_version is not the contract's");
  if (last.modelProfileId !== modelProfileId) return refuse(1, "model_profile_id is not the contract's");
  const named = namedBy(entries);
  const lost = [...named].find(([ref]) => !bodies.has(ref))?.[1];
  for (const [ref, body] of bodies) {
    const entry = named.get(ref);
    // A ref that no entry names may be the damaged ref of a missing body.
    if (entry === undefined) return refuse(lost ?? entries.length, `body ${ref} is named by no entry`);
    if (!isBodyOf(ref, body)) return refuse(entry, `body ${ref} does not match its ref`);
  }
  const { runId, hash: head } = last;
  return {
    ok: true as const,
    runId,
    head,
    outcome: last.decided.outcome,
    erased: [...named.keys()].filter((ref) => !bodies.has(ref)).sort(),
    message: canonicalWire({ format: BUNDLE_FORMAT, runId, contractHash, head }),
  };
}

/** The first event that is not what the entries say. */
function findWrongEvent(events: readonly unknown[], entries: readonly Entry[]): BundleRefused | null {
  const expected = runTimeline(entries);
  const length = Math.max(events.length, expected.length);
  for (let index = 0; index < length; index += 1) {
    const item = expected[index];
    if (item !== undefined && index < events.length) {
      if (canonicalJson(events[index]) === canonicalJson(lifecycleEvent(item))) continue;
    }
    const entry = item?.entry.seq ?? entries.length;
    return { ok: false, entry, problem: `event ${index + 1} is not what the entries say` };
  }
  return null;
}

function namedBy(entries: readonly Entry[]): ReadonlyMap<BodyRef, number> {
  return new Map(entries.toReversed().flatMap((entry) => refsOf(entry).map((ref) => [ref, entry.seq] as const)));
}
