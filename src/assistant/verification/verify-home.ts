/** Verifies a whole home: every journal, the ledger, the capabilities, and whether they agree. */
import { auditHome, type Finding, type JournalFacts } from "../../kernel/journal/audit-home.ts";
import { genesisHash } from "../../kernel/journal/chain.ts";
import type { TrustedKey } from "../../kernel/journal/checkpoint.ts";
import type { CheckpointRecord } from "../../kernel/journal/checkpoint-records.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { type LedgerEntry, toLedgerLine, verifyLedger } from "../../kernel/journal/ledger.ts";
import type { BadEntry } from "../../kernel/journal/read-records.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import type { SessionCapability } from "../../runtime/ports/stored-capability.ts";
import { rowHashOf } from "../../runtime/run/accept-run.ts";
import { type ApprovalFinding, auditApprovals } from "./audit-approvals.ts";
import { auditOutbox, type OutboxFinding } from "./audit-outbox.ts";
import { auditRows, type RowFinding } from "./audit-rows.ts";
import { SpendAudit, type SpendFinding } from "./audit-spend.ts";
import { allRuns, readAll } from "./read-all.ts";
import { erasedIn, verifyStoredRun } from "./verify-stored-run.ts";

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
  | RowFinding;

export type HomeVerdict =
  | { readonly ok: false; readonly what: string; readonly entry?: number; readonly problem: string }
  | {
      readonly ok: boolean;
      readonly what: "home";
      readonly problem: string | undefined;
      readonly runs: number;
      readonly ledger: number;
      readonly signatures: "checked" | "unchecked";
      readonly findings: readonly HomeFinding[];
    };

/** A gateway may be at work meanwhile: what contradicts a ledger that has grown since is looked at again. */
export async function verifyHome(home: VerifiableHome): Promise<HomeVerdict> {
  for (let attempt = 1; ; attempt += 1) {
    const { seq } = await home.store.ledgerHead();
    const verdict = await verifyOnce(home);
    if (verdict.ok || attempt === MAX_ATTEMPTS || (await home.store.ledgerHead()).seq === seq) return verdict;
  }
}

const MAX_ATTEMPTS = 3;

async function verifyOnce({ store, trusted: key, findDamage, kept }: VerifiableHome): Promise<HomeVerdict> {
  const trusted = key ?? UNCHECKED;
  const { homeId } = store;
  const ledger = await readAll((offset, limit) => store.readLedger(offset, limit));
  const checked = verifyLedger(ledger.map((entry) => `${toLedgerLine(entry)}\n`).join(""), { homeId, trusted });
  if (!checked.ok) return { what: "ledger", ...checked };
  const erased = Promise.resolve(erasedIn(ledger));
  const journals = new Map<RunId, JournalFacts>();
  const spend = new SpendAudit();
  for await (const run of allRuns(store)) {
    const verified = await verifyStoredRun(store, run, () => erased);
    if (!verified.ok) return { what: run.runId, ...verified };
    journals.set(run.runId, factsOf(run, verified.entries));
    spend.add(run, verified.entries);
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
  ];
  return {
    ok: findings.length === 0,
    what: "home",
    problem: findings.length === 0 ? undefined : findings.map(describeFinding).join("; "),
    runs: journals.size,
    ledger: ledger.length,
    signatures: key === null ? "unchecked" : "checked",
    findings,
  };
}

function factsOf(run: StoredRun, entries: readonly Entry[]): JournalFacts {
  const { contractHash } = run;
  const last = entries.at(-1);
  return {
    rowHash: rowHashOf({ ...run, accepted: run.acceptedAtFirst ?? run.accepted }),
    seq: entries.length,
    outcome: last?.kind === "TERMINATE" ? last.decided.outcome : null,
    hashAt: (seq) => (seq === 0 ? genesisHash(contractHash) : (entries[seq - 1]?.hash ?? null)),
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
