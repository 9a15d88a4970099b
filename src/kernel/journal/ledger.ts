/**
 * The ledger: one chain per home for everything outside a run. H_0 covers the home id, so no entry can be moved
 * to another home. The kinds are a closed list of metadata and refs, never content or secrets. A checkpoint in the
 * ledger names the head before it and, if a key is trusted, carries its signature.
 */
import { type Static, Type } from "typebox";
import type { Capability } from "../vocabulary/capability.ts";
import { hashCanonical, hashWire } from "../vocabulary/hash.ts";
import type { Hash, SessionId } from "../vocabulary/identifiers.ts";
import { MODEL_TIERS } from "../vocabulary/model-tier.ts";
import { OUTCOMES } from "../vocabulary/outcome.ts";
import {
  ApprovalIdSchema,
  BodyRefSchema,
  CallIdSchema,
  closed,
  HashSchema,
  nullable,
  RunIdSchema,
} from "../vocabulary/schema-primitives.ts";
import { canonicalWire } from "../vocabulary/wire-case.ts";
import { type Anchor, findClockRegress, findLostAnchor } from "./chain-checks.ts";
import { coversItsRuns, isSigned, SignedCheckpointSchema, type TrustedKey } from "./checkpoint.ts";
import { parserByKind } from "./parse-by-kind.ts";
import { type BadEntry, type Parsed, parseCanonical, type Refused, readRecords } from "./read-records.ts";

const LEDGER_FORMAT = 1;

const Text = Type.String({ minLength: 1 });

const run = { runId: RunIdSchema };
const call = { callId: CallIdSchema };
const capability = { sessionId: Type.Unsafe<SessionId>(Text), capability: Type.Unsafe<Capability>(Text) };
/** A decision counts once: the same send cannot be repeated. */
const single = { nonce: Text };
const sender = Type.Object({ channel: Text, sender: Text }, closed);

/** Whose rows the ledger vouches for, beside those that have entries of their own. */
export const RECORDED_TABLES = [
  "sessions",
  "session_routes",
  "checkpoints",
  "pairings",
  "inbox",
  "outbox",
  "tokens",
  "browsers",
  "secrets",
  "jobs",
] as const;
export type RecordedTable = (typeof RECORDED_TABLES)[number];

export const LedgerDataSchemas = {
  /** `rowHash` is over what the run was accepted with beside its contract; absent from older entries. */
  "run.created": Type.Object({ ...run, contractHash: HashSchema, rowHash: Type.Optional(HashSchema) }, closed),
  /** `seq` and `head` are the anchor of the run's journal. */
  "run.sealed": Type.Object(
    { ...run, outcome: Type.Enum([...OUTCOMES]), seq: Type.Integer({ minimum: 1 }), head: HashSchema },
    closed,
  ),
  "capability.requested": Type.Object({ ...capability, ...run }, closed),
  "capability.granted": Type.Object({ ...capability, ...single, expiresAt: nullable(Text) }, closed),
  "capability.denied": Type.Object({ ...capability, ...single }, closed),
  "capability.revoked": Type.Object({ ...capability, ...single }, closed),
  "approval.decided": Type.Object(
    {
      ...run,
      ...call,
      approvalId: ApprovalIdSchema,
      planHash: HashSchema,
      decision: Type.Enum(["allow", "deny", "expired", "unreachable"]),
    },
    closed,
  ),
  "effect.resolved": Type.Object(
    {
      ...run,
      ...call,
      /** The question that was answered; an older entry does not name it. */
      approvalId: Type.Optional(ApprovalIdSchema),
      decision: Type.Enum(["done", "retry", "fail", "expired"]),
    },
    closed,
  ),
  "token.created": Type.Object({ tokenId: Text, scope: Type.Enum(["chat", "operate", "admin"]) }, closed),
  /** It has another secret from here on; the earlier one counts no more. */
  "token.rotated": Type.Object({ tokenId: Text }, closed),
  "token.revoked": Type.Object({ tokenId: Text }, closed),
  "browser.signed_in": Type.Object({ browserId: Text }, closed),
  "browser.signed_out": Type.Object({ browserId: Text }, closed),
  /** Its name, never its value. */
  "secret.set": Type.Object({ name: Text }, closed),
  "secret.removed": Type.Object({ name: Text }, closed),
  /** Which settings, not to what: the hash is of the whole config after the change. */
  "config.changed": Type.Object({ paths: Type.Array(Text, { minItems: 1 }), configHash: HashSchema }, closed),
  "pair.accepted": sender,
  "pair.denied": sender,
  /** A conversation that another assistant held, taken over from files: its turns are no runs, so no journal proves them. */
  "session.imported": Type.Object(
    { sessionId: Type.Unsafe<SessionId>(Text), sourceHash: HashSchema, turns: Type.Integer({ minimum: 1 }) },
    closed,
  ),
  "slot.settled": Type.Object(
    {
      jobId: Text,
      dueAt: Text,
      status: Type.Enum(["ran", "skipped", "missed"]),
      reason: nullable(Text),
      runId: nullable(RunIdSchema),
      /** Of several in a row: how many, and when the last was due. */
      slots: Type.Optional(Type.Integer({ minimum: 2 })),
      until: Type.Optional(Text),
    },
    closed,
  ),
  /** By a run on its agent's behalf, or by an operator. */
  "job.added": Type.Object({ jobId: Text, runId: nullable(RunIdSchema) }, closed),
  "job.removed": Type.Object({ jobId: Text }, closed),
  /** One job, or all of them. */
  "schedule.paused": Type.Object({ jobId: nullable(Text) }, closed),
  "schedule.resumed": Type.Object({ jobId: nullable(Text) }, closed),
  /** Hashes of the policy state before and after. */
  "policy.delta": Type.Object({ ...run, before: HashSchema, after: HashSchema }, closed),
  /** An operator's: rolled back, or frozen as it is. */
  "policy.decided": Type.Object({ tier: Type.Enum([...MODEL_TIERS]), before: HashSchema, after: HashSchema }, closed),
  /** The operator vouches for what an untrusted context wrote: by its path's hash, since names may be content. */
  "mark.removed": Type.Object({ pathHash: HashSchema }, closed),
  /** Everything before is from a backup; what the home did after that was taken is not here. */
  "home.restored": Type.Object({ restoreId: Text }, closed),
  /** The content of a row as it was written; null: it was removed. The last entry about a row decides (recorded-row.ts). */
  "row.recorded": Type.Object(
    {
      table: Type.Enum([...RECORDED_TABLES]),
      rowId: Text,
      rowHash: nullable(HashSchema),
    },
    closed,
  ),
  /** The one that was named, and those that it had superseded. */
  "memory.forgotten": Type.Object({ memoryIds: Type.Array(Text, { minItems: 1 }) }, closed),
  /** Content that was removed for good. Of a run, or of what a session holds beside its runs; older entries name neither. */
  "body.erased": Type.Object(
    {
      refs: Type.Array(BodyRefSchema, { minItems: 1 }),
      runId: Type.Optional(RunIdSchema),
      sessionId: Type.Optional(Type.Unsafe<SessionId>(Text)),
    },
    closed,
  ),
  "checkpoint.signed": SignedCheckpointSchema,
};
export type LedgerKind = keyof typeof LedgerDataSchemas;

export interface LedgerDraft<K extends LedgerKind> {
  readonly kind: K;
  readonly ts: string;
  readonly actor: string;
  readonly data: Readonly<Static<(typeof LedgerDataSchemas)[K]>>;
}
interface LedgerFrame {
  readonly v: typeof LEDGER_FORMAT;
  readonly seq: number;
  readonly prev: Hash;
  readonly hash: Hash;
}
export type LedgerEntryOf<K extends LedgerKind> = LedgerFrame & LedgerDraft<K>;
export type LedgerEntry = { [K in LedgerKind]: LedgerEntryOf<K> }[LedgerKind];

export interface LedgerHead {
  readonly seq: number;
  readonly hash: Hash;
}

export function startLedger(homeId: string): LedgerHead {
  return { seq: 0, hash: hashCanonical(["ledger", homeId]) };
}

export function appendLedger<K extends LedgerKind>(head: LedgerHead, draft: LedgerDraft<K>): LedgerEntryOf<K> {
  const unlinked = { ...draft, v: LEDGER_FORMAT, seq: head.seq + 1, prev: head.hash } as const;
  return { ...unlinked, hash: hashEntry(unlinked) };
}

export function toLedgerLine(entry: LedgerEntry): string {
  return canonicalWire(entry);
}

/** Is this an entry as it was appended? Only `verifyLedger` checks its position in the chain. */
export function isIntact(entry: LedgerEntry): boolean {
  return entry.hash === hashEntry(entry);
}

export interface LedgerExpectation {
  readonly homeId: string;
  readonly anchor?: Anchor;
  readonly trusted?: TrustedKey;
}

export interface VerifiedLedger {
  readonly ok: true;
  readonly entries: readonly LedgerEntry[];
  readonly head: Hash;
  readonly length: number;
  readonly torn: string | null;
  /** Strange, but no proof of tampering. */
  readonly flags: readonly BadEntry[];
}

export function verifyLedger(file: string | Uint8Array, expected: LedgerExpectation): VerifiedLedger | Refused {
  const { entries, torn, bad } = readRecords(file, parseLedgerLine);
  const start = startLedger(expected.homeId);
  const broken =
    findBroken(start, entries, expected.trusted) ?? bad ?? findLostAnchor(start.hash, entries, expected.anchor);
  if (broken !== null) return { ok: false, ...broken };
  const head = entries.at(-1)?.hash ?? start.hash;
  return { ok: true, entries, head, length: entries.length, torn, flags: findClockRegress(entries) };
}

function findBroken(
  start: LedgerHead,
  entries: readonly LedgerEntry[],
  trusted: TrustedKey | undefined,
): BadEntry | null {
  const heads = [start.hash];
  for (const entry of entries) {
    const problem = linkProblem(entry, heads) ?? checkpointProblem(entry, heads, trusted);
    if (problem !== null) return { entry: heads.length, problem };
    heads.push(entry.hash);
  }
  return null;
}

/** `heads` are the hashes before this entry, by seq. */
function linkProblem(entry: LedgerEntry, heads: readonly Hash[]): string | null {
  if (entry.seq !== heads.length) return `seq is ${entry.seq} instead of ${heads.length}`;
  if (entry.prev !== heads.at(-1)) return "prev is not the hash before";
  return isIntact(entry) ? null : "hash does not match";
}

function checkpointProblem(entry: LedgerEntry, heads: readonly Hash[], trusted: TrustedKey | undefined): string | null {
  if (entry.kind !== "checkpoint.signed") return null;
  if (entry.data.head !== heads[entry.data.ledgerSeq]) return "checkpoint names a head that was not there";
  if (!coversItsRuns(entry.data)) return "merkle_root is not that of open_runs";
  return trusted === undefined || isSigned(entry.data, trusted) ? null : "signature is not the trusted key's";
}

type Unlinked = Pick<LedgerEntry, "v" | "seq" | "ts" | "kind" | "actor" | "prev"> & { readonly data: unknown };

function hashEntry({ v, seq, ts, kind, actor, data, prev }: Unlinked): Hash {
  return hashWire({ v, seq, ts, kind, actor, data, prev });
}

const parseEntry = parserByKind<LedgerEntry>(
  Object.fromEntries(
    Object.entries(LedgerDataSchemas).map(([kind, data]) => [
      kind,
      Type.Object(
        {
          v: Type.Literal(LEDGER_FORMAT),
          seq: Type.Integer({ minimum: 1 }),
          ts: Type.String(),
          kind: Type.Literal(kind),
          actor: Type.String(),
          data,
          prev: HashSchema,
          hash: HashSchema,
        },
        closed,
      ),
    ]),
  ),
);

function parseLedgerLine(line: string): Parsed<LedgerEntry> {
  const parsed = parseCanonical(line);
  return parsed.ok ? parseEntry(parsed.value) : parsed;
}
