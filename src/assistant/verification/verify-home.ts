/** Verifies a whole home: every journal, the ledger, the capabilities, and whether they agree. */
import { auditHome, type Finding, type JournalFacts } from "../../kernel/journal/audit-home.ts";
import { genesisHash } from "../../kernel/journal/chain.ts";
import type { TrustedKey } from "../../kernel/journal/checkpoint.ts";
import type { CheckpointRecord } from "../../kernel/journal/checkpoint-records.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { type LedgerEntry, verifyLedger } from "../../kernel/journal/ledger.ts";
import type { BadEntry, Refused } from "../../kernel/journal/read-records.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import { asHash, asRunId, type RunId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type PlacedRun, type Store, type StoredRun, StoreError } from "../../runtime/ports/store.ts";
import type { SessionCapability } from "../../runtime/ports/stored-capability.ts";
import { rowHashOf } from "../../runtime/run/accept-run.ts";
import { type ApprovalFinding, auditApprovals } from "./audit-approvals.ts";
import { auditOutbox, type OutboxFinding } from "./audit-outbox.ts";
import { auditRows, type RowFinding } from "./audit-rows.ts";
import { SpendAudit, type SpendFinding } from "./audit-spend.ts";
import { allRuns, readAll } from "./read-all.ts";
import { erasedIn, type VerifiedRun, verifyStoredRun } from "./verify-stored-run.ts";

/** Without the key everything but signatures can be verified. */
const UNCHECKED: TrustedKey = { publicKey: "", verifySignature: () => true };

export interface VerifiableHome {
  readonly store: Store;
  /** Null when the home's key is missing: then signatures are not checked. */
  readonly trusted: TrustedKey | null;
  /** Checkpoints kept outside the database, read before this is called. */
  readonly kept?: {
    readonly records: readonly CheckpointRecord[];
    readonly bad: BadEntry | null;
    /** The home's own file is not there, or empty. */
    readonly isMissing: boolean;
  };
  /** Damage in the database file itself, one sentence each. A damaged index hides rows. */
  readonly findDamage: () => readonly string[];
  /** The files that follow from the database; opened for each attempt. */
  readonly openFiles?: () => HomeFiles;
}

/** A difference between a file and what the database says it holds. */
export interface FileFinding {
  readonly code:
    | "file.line-changed"
    | "file.line-missing"
    | "file.line-unexpected"
    | "file.missing"
    | "file.unexpected";
  /** Relative to the home. */
  readonly file: string;
  /** From 1; null: the whole file. */
  readonly line: number | null;
  readonly ledgerSeq: null;
}

/** Compares the files, told in the order of the ledger what they follow from. */
export interface HomeFiles {
  /** Before the ledger is read: a gateway may write meanwhile. */
  begin(): Promise<void>;
  ended(run: PlacedRun, ledgerSeq: number, entries: readonly Entry[], lookup: Lookup): Promise<void>;
  imported(sessionId: SessionId, ledgerSeq: number): Promise<void>;
  /** `isNewer`: the run ended after the ledger was read, and accounts for what files hold of it. */
  finish(isNewer: (runId: string) => Promise<boolean>): Promise<readonly FileFinding[]>;
}

interface CapabilityFinding {
  readonly code: "capability.forged" | "capability.missing";
  readonly sessionId: SessionId;
  readonly capability: Capability;
  /** The last ledger entry about it; null when there is none. */
  readonly ledgerSeq: number | null;
}

/** About the file of checkpoints; `line` is the first that cannot be read, `at` when the log was found missing. */
type KeptFinding =
  | { readonly code: "checkpoint.unreadable"; readonly line: number; readonly ledgerSeq: null }
  | { readonly code: "checkpoint.file-missing"; readonly ledgerSeq: number }
  | { readonly code: "database.wal-missing"; readonly at: string; readonly ledgerSeq: null };

type HomeFinding =
  | SpendFinding
  | KeptFinding
  | Finding
  | CapabilityFinding
  | ApprovalFinding
  | OutboxFinding
  | RowFinding
  | FileFinding;

type RefusedRun = { readonly what: string } & Refused;

export type HomeVerdict =
  | { readonly ok: false; readonly what: string; readonly entry?: number; readonly problem: string }
  | {
      readonly ok: boolean;
      readonly what: "home";
      readonly problem: string | undefined;
      readonly runs: number;
      readonly entries: number;
      readonly ledger: number;
      readonly signatures: "checked" | "unchecked";
      readonly findings: readonly HomeFinding[];
    };

/** A gateway may be at work meanwhile: what contradicts a ledger that has grown since is looked at again. */
export async function verifyHome(home: VerifiableHome): Promise<HomeVerdict> {
  for (let attempt = 1; ; attempt += 1) {
    const seq = await lastSeq(home.store);
    const verdict = await verifyOnce(home);
    if (verdict.ok || attempt === MAX_ATTEMPTS || (await lastSeq(home.store)) === seq) return verdict;
  }
}

/** Null when the last entry is damaged. */
async function lastSeq(store: Pick<Store, "ledgerHead">): Promise<number | null> {
  try {
    return (await store.ledgerHead()).seq;
  } catch (error) {
    if (error instanceof StoreError && error.code === "store.corrupt") return null;
    throw error;
  }
}

const MAX_ATTEMPTS = 3;

async function verifyOnce({ store, trusted: key, findDamage, kept, openFiles }: VerifiableHome): Promise<HomeVerdict> {
  const trusted = key ?? UNCHECKED;
  const files = openFiles?.();
  await files?.begin();
  const { homeId } = store;
  const lines = await readAll((offset, limit) => store.readLedgerLines(offset, limit));
  const checked = verifyLedger(lines.map((line) => `${line}\n`).join(""), { homeId, trusted });
  if (!checked.ok) return { what: "ledger", ...checked };
  const { entries: ledger } = checked;
  const erased = Promise.resolve(erasedIn(ledger));
  const journals = new Map<RunId, JournalFacts>();
  const spend = new SpendAudit();
  const verifyRun = async (run: StoredRun): Promise<VerifiedRun | RefusedRun> => {
    const verified = await verifyStoredRun(store, run, () => erased);
    if (!verified.ok) return { what: run.runId, ...verified };
    journals.set(run.runId, factsOf(run, verified.entries));
    spend.add(run, verified.entries);
    return verified;
  };
  for (const entry of ledger) {
    if (entry.kind === "session.imported") await files?.imported(entry.data.sessionId, entry.seq);
    const run =
      entry.kind === "run.sealed" && !journals.has(entry.data.runId) ? await store.findRun(entry.data.runId) : null;
    if (run === null) continue;
    const verified = await verifyRun(run);
    if (!verified.ok) return verified;
    await files?.ended(run, entry.seq, verified.entries, (ref) => verified.bodies.get(ref)?.text ?? null);
  }
  const sealed = new Set(journals.keys());
  for await (const run of allRuns(store)) {
    const verified = journals.has(run.runId) ? null : await verifyRun(run);
    if (verified?.ok === false) return verified;
  }
  const damage = findDamage();
  if (damage.length > 0) return { ok: false, what: "database", problem: damage.join("; ") };
  // Read after the ledger: a row may be newer than its entry, never older.
  const known = await readAll((offset, limit) => store.allCapabilities({ limit, offset }));
  const approvals = await readAll((offset, limit) => store.allApprovals({ limit, offset }));
  const records = kept?.records ?? [];
  const checkpoints = records.flatMap((record) => (record.kind === "checkpoint" ? [record.checkpoint] : []));
  const findings: readonly HomeFinding[] = [
    ...auditKept(records, kept?.bad ?? null),
    ...(kept?.isMissing === true ? auditMissingFile(ledger) : []),
    ...auditHome({ homeId, ledger, journals, checkpoints, trusted }),
    ...auditCapabilities(ledger, known),
    ...auditApprovals(ledger, approvals),
    ...(await spend.findings(store)),
    ...(await auditRows(ledger, store)),
    ...(await auditOutbox(store)),
    ...((await files?.finish(async (runId) => !sealed.has(asRunId(runId)) && (await hasEnded(store, runId)))) ?? []),
  ];
  return {
    ok: findings.length === 0,
    what: "home",
    problem: findings.length === 0 ? undefined : findings.map(describeFinding).join("; "),
    runs: journals.size,
    entries: [...journals.values()].reduce((sum, { seq }) => sum + seq, 0),
    ledger: ledger.length,
    signatures: key === null ? "unchecked" : "checked",
    findings,
  };
}

async function hasEnded(store: Store, runId: string): Promise<boolean> {
  const run = await store.findRun(asRunId(runId));
  return run !== null && run.outcome !== null;
}

const HASH_CHARS = 64;

function factsOf(run: StoredRun, entries: readonly Entry[]): JournalFacts {
  const { contractHash } = run;
  const last = entries.at(-1);
  const seq = entries.length;
  // One text a run: the entries themselves need not stay in memory.
  const hashes = entries.map(({ hash }) => hash).join("");
  return {
    rowHash: rowHashOf({ ...run, accepted: run.acceptedAtFirst ?? run.accepted }),
    seq,
    outcome: last?.kind === "TERMINATE" ? last.decided.outcome : null,
    hashAt: (at) => {
      if (at === 0) return genesisHash(contractHash);
      return at > seq ? null : asHash(hashes.slice((at - 1) * HASH_CHARS, at * HASH_CHARS));
    },
  };
}

function describeFinding(finding: HomeFinding): string {
  const { code, ledgerSeq } = finding;
  const what = subjectOf(finding);
  return ledgerSeq === null ? `${code} ${what}` : `${code} ${what} ledger entry ${ledgerSeq}`;
}

function auditKept(records: readonly CheckpointRecord[], bad: BadEntry | null): readonly KeptFinding[] {
  const lost = records.flatMap((record): readonly KeptFinding[] =>
    record.kind === "wal.lost" ? [{ code: "database.wal-missing", at: record.ts, ledgerSeq: null }] : [],
  );
  return bad === null ? lost : [...lost, { code: "checkpoint.unreadable", line: bad.entry, ledgerSeq: null }];
}

/** A checkpoint in the ledger has earlier ones in the file. A restore sets the file aside. */
function auditMissingFile(ledger: readonly LedgerEntry[]): readonly KeptFinding[] {
  const last = ledger.findLast(({ kind }) => kind === "checkpoint.signed" || kind === "home.restored");
  return last?.kind === "checkpoint.signed" ? [{ code: "checkpoint.file-missing", ledgerSeq: last.seq }] : [];
}

function subjectOf(finding: HomeFinding): string | null {
  if ("scope" in finding) return `${finding.scope} of ${finding.period}`;
  if ("file" in finding) return finding.line === null ? finding.file : `${finding.file} line ${finding.line}`;
  if ("line" in finding) return `line ${finding.line}`;
  if ("at" in finding) return `noticed ${finding.at}`;
  if (finding.code === "checkpoint.file-missing") return "checkpoints.jsonl";
  if ("rowId" in finding) return `${finding.rowId} in ${finding.table}`;
  if ("deliveryId" in finding) return finding.deliveryId;
  if ("approvalId" in finding) return `${finding.approvalId} of ${finding.runId}`;
  return "runId" in finding ? finding.runId : `${finding.capability} of ${finding.sessionId}`;
}

/**
 * The table of capabilities is only an index of the ledger: each row must be what the ledger last said, and everything
 * the ledger said must have its row. This finds invented grants, and requests or revocations that were removed.
 */
function auditCapabilities(
  ledger: readonly LedgerEntry[],
  known: readonly SessionCapability[],
): readonly CapabilityFinding[] {
  const keyOf = ({ sessionId, capability }: Pick<SessionCapability, "sessionId" | "capability">): string =>
    `${capability} ${sessionId}`;
  const said = new Map<string, CapabilityFinding>();
  for (const entry of ledger) {
    if (!isAboutCapabilities(entry)) continue;
    const { sessionId, capability } = entry.data;
    said.set(keyOf(entry.data), { code: "capability.missing", sessionId, capability, ledgerSeq: entry.seq });
  }
  const forged = known.flatMap(({ sessionId, capability, state }): readonly CapabilityFinding[] => {
    const ledgerSeq = said.get(keyOf({ sessionId, capability }))?.ledgerSeq ?? null;
    return state === "forged" ? [{ code: "capability.forged", sessionId, capability, ledgerSeq }] : [];
  });
  for (const each of known) said.delete(keyOf(each));
  return [...forged, ...said.values()];
}

function isAboutCapabilities(
  entry: LedgerEntry,
): entry is Extract<LedgerEntry, { readonly kind: `capability.${string}` }> {
  return entry.kind.startsWith("capability.");
}
