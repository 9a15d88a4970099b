/** Verifies a whole home: every journal, the ledger, the capabilities, and whether they agree. */
import { auditHome, type Finding, type JournalFacts } from "../../kernel/journal/audit-home.ts";
import { genesisHash } from "../../kernel/journal/chain.ts";
import type { TrustedKey } from "../../kernel/journal/checkpoint.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { type LedgerEntry, toLedgerLine, verifyLedger } from "../../kernel/journal/ledger.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { SessionCapability, Store, StoredRun } from "../../runtime/ports/store.ts";
import { auditCapabilities, type CapabilityFinding } from "./audit-capabilities.ts";
import { verifyStoredRun } from "./verify-stored-run.ts";

const PAGE = 500;

/** Without the key everything but signatures can be verified. */
const UNCHECKED: TrustedKey = { publicKey: "", verifySignature: () => true };

export interface VerifiableHome {
  readonly store: Store;
  /** Null when the home's key is missing: then signatures are not checked. */
  readonly trusted: TrustedKey | null;
  /** Damage in the database file itself, one sentence each. A damaged index hides rows. */
  readonly findDamage: () => readonly string[];
}

export type HomeVerdict =
  | { readonly ok: false; readonly what: string; readonly entry?: number; readonly problem: string }
  | {
      readonly ok: boolean;
      readonly what: "home";
      readonly problem: string | undefined;
      readonly runs: number;
      readonly ledger: number;
      readonly signatures: "checked" | "unchecked";
      readonly findings: readonly (Finding | CapabilityFinding)[];
    };

export async function verifyHome({ store, trusted: key, findDamage }: VerifiableHome): Promise<HomeVerdict> {
  const trusted = key ?? UNCHECKED;
  const { homeId } = store;
  const ledger = await readWholeLedger(store);
  const checked = verifyLedger(ledger.map((entry) => `${toLedgerLine(entry)}\n`).join(""), { homeId, trusted });
  if (!checked.ok) return { what: "ledger", ...checked };
  const journals = new Map<RunId, JournalFacts>();
  for (let offset = 0; ; offset += PAGE) {
    const { runs } = await store.listRuns({ limit: PAGE, offset });
    for (const run of runs) {
      const verified = await verifyStoredRun(store, run);
      if (!verified.ok) return { what: run.runId, ...verified };
      journals.set(run.runId, factsOf(run, verified.entries));
    }
    if (runs.length < PAGE) break;
  }
  const damage = findDamage();
  if (damage.length > 0) return { ok: false, what: "database", problem: damage.join("; ") };
  const findings = [
    ...auditHome({ homeId, ledger, journals, checkpoints: [], trusted }),
    ...auditCapabilities(ledger, await readAllCapabilities(store)),
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

async function readWholeLedger(store: Store): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (;;) {
    const page = await store.readLedger(entries.length, PAGE);
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

async function readAllCapabilities(store: Store): Promise<readonly SessionCapability[]> {
  const known: SessionCapability[] = [];
  for (;;) {
    const page = await store.allCapabilities({ limit: PAGE, offset: known.length });
    known.push(...page);
    if (page.length < PAGE) return known;
  }
}

function factsOf({ contractHash }: StoredRun, entries: readonly Entry[]): JournalFacts {
  const last = entries.at(-1);
  return {
    seq: entries.length,
    outcome: last?.kind === "TERMINATE" ? last.decided.outcome : null,
    hashAt: (seq) => (seq === 0 ? genesisHash(contractHash) : (entries[seq - 1]?.hash ?? null)),
  };
}

function describeFinding(finding: Finding | CapabilityFinding): string {
  const { code, ledgerSeq } = finding;
  const what = "runId" in finding ? finding.runId : `${finding.capability} of ${finding.sessionId}`;
  return [code, what, ledgerSeq === null ? null : `ledger entry ${ledgerSeq}`]
    .filter((part) => part !== null)
    .join(" ");
}
