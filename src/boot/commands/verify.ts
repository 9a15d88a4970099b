/** `surety verify FILE|RUN|--home`: do the chains hold? Names the first bad entry; needs no network and no gateway. */
import { readFile } from "node:fs/promises";
import { checkIntegrity } from "../../adapters/store-sqlite/check-database.ts";
import { plural } from "../../adapters/terminal/quantities.ts";
import { auditHome, type Finding, type JournalFacts } from "../../kernel/journal/audit-home.ts";
import { verifyBundle } from "../../kernel/journal/bundle.ts";
import { genesisHash } from "../../kernel/journal/chain.ts";
import type { TrustedKey } from "../../kernel/journal/checkpoint.ts";
import { readJournal } from "../../kernel/journal/journal-lines.ts";
import { type LedgerEntry, toLedgerLine, verifyLedger } from "../../kernel/journal/ledger.ts";
import { RECEIPT_FORMAT, verifyReceipt } from "../../kernel/journal/signed-receipt.ts";
import { verifyJournal } from "../../kernel/journal/verify-journal.ts";
import type { Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { SessionCapability, StoredRun } from "../../runtime/ports/store.ts";
import { auditCapabilities, type CapabilityFinding } from "../audit-capabilities.ts";
import { BootError, EXIT, systemCodeOf } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { findRun, type ReadableHome, withHome } from "../read-home.ts";
import { keyMissing, verifySignature } from "../signing-key.ts";
import { verifyStoredRun } from "../verify-stored-run.ts";

export const verify: Action = {
  summary: "check a bundle, a receipt, a journal file, a run or the whole home",
  arguments: ["[FILE|RUN]"],
  options: {
    key: { type: "string", value: "KEY", summary: "the public key a bundle or a receipt must be signed with" },
  },
  examples: ["surety verify run.json", "surety verify run_0123", "surety verify --home"],
  takesBareHome: true,
  async run(context) {
    const [target] = context.arguments;
    if (target === undefined) return withHome(context, (home) => verifyHome(context, home));
    const file = await readIfFile(target);
    // No run's name has one of these.
    if (file === null && /[/.\\]/.test(target))
      throw new BootError("not_found", `there is no file ${target}`, "Check its path.");
    if (file === null) return withHome(context, (home) => verifyRun(context, home, target));
    if (isReceipt(file)) return verifyReceiptFile(context, target, file);
    return isBundle(file) ? verifyBundleFile(context, target, file) : verifyJournalFile(context, target, file);
  },
};

interface Verdict {
  readonly ok: boolean;
  readonly what: string;
  readonly entry?: number | undefined;
  readonly problem?: string | undefined;
  readonly [fact: string]: unknown;
}

function tell({ output }: CommandContext, verdict: Verdict, good: string): number {
  output.result(verdict, () => {
    const where = verdict.entry === undefined ? "" : `entry ${verdict.entry}: `;
    if (verdict.ok) output.line(good);
    else output.remark(`error verify.failed: ${verdict.what}: ${where}${verdict.problem ?? ""}`);
  });
  return verdict.ok ? EXIT.success : EXIT.failure;
}

function verifyReceiptFile(context: CommandContext, what: string, file: Uint8Array): number {
  const verified = verifyReceipt(file, { verifySignature });
  if (!verified.ok) return tell(context, { what, ...verified }, "");
  const { receipt, publicKey } = verified;
  const expected = context.options.text("key");
  if (expected !== undefined && expected !== publicKey) return tell(context, otherKey(what, publicKey), "");
  const { run_id, outcome, tokens, cost_usd } = receipt;
  return tell(
    context,
    { ok: true, what, ...receipt },
    `${what} holds: ${run_id} ended ${outcome}, ${tokens} tokens, ${cost_usd} USD, signed ${whose(expected, publicKey)}`,
  );
}

function otherKey(what: string, publicKey: string): Verdict {
  return { ok: false, what, problem: `signed with another key: ${publicKey}` };
}

function whose(expected: string | undefined, publicKey: string): string {
  return expected === undefined ? `by ${publicKey}: compare it with a key you know` : "by the key you named";
}

function verifyBundleFile(context: CommandContext, what: string, file: Uint8Array): number {
  const verified = verifyBundle(file, { verifySignature });
  if (!verified.ok) return tell(context, { what, ...verified }, "");
  const { runId, head, outcome, erased, publicKey } = verified;
  const expected = context.options.text("key");
  if (expected !== undefined && expected !== publicKey) return tell(context, otherKey(what, publicKey), "");
  const verdict = { ok: true, what, run_id: runId, outcome, head_hash: head, public_key: publicKey, erased };
  return tell(
    context,
    verdict,
    `${what} holds: ${runId} ended ${outcome}, head ${head}, ${withheld(erased.length)}signed ${whose(expected, publicKey)}`,
  );
}

function withheld(texts: number): string {
  return texts === 0 ? "" : `without ${texts} of its texts, `;
}

function verifyJournalFile(context: CommandContext, what: string, file: Uint8Array): number {
  // A journal alone says which contract it was under; that this was the right one, only a bundle or the home can show.
  const contractHash = readJournal(file).entries[0]?.contractHash;
  const verified =
    contractHash === undefined
      ? ({ ok: false, entry: 1, problem: "not a journal" } as const)
      : verifyJournal(file, { contractHash });
  if (!verified.ok) return tell(context, { what, ...verified }, "");
  const { head, length } = verified;
  return tell(
    context,
    { ok: true, what, head_hash: head, entries: length },
    `${what} holds: ${length} entries, head ${head}`,
  );
}

async function verifyRun(context: CommandContext, home: ReadableHome, id: string): Promise<number> {
  const run = await findRun(home, id);
  const verified = await verifyStoredRun(home.store, run);
  if (!verified.ok) return tell(context, { what: id, ...verified }, "");
  const { head, length } = verified;
  return tell(
    context,
    { ok: true, what: id, head_hash: head, entries: length },
    `${id} holds: ${length} entries, head ${head}`,
  );
}

const PAGE = 500;

/** Without the key everything but signatures can be verified. */
const UNCHECKED: TrustedKey = { publicKey: "", verifySignature: () => true };

/** Every journal, the ledger, what is granted, and whether they tell one story. */
async function verifyHome(context: CommandContext, home: ReadableHome): Promise<number> {
  const { store } = home;
  const trusted = home.signing ?? UNCHECKED;
  if (home.signing === null) context.output.remark(`${keyMissing(context.home).message}: signatures are not checked`);
  const ledger = await readWholeLedger(home);
  const checked = verifyLedger(ledger.map((entry) => `${toLedgerLine(entry)}\n`).join(""), {
    homeId: store.homeId,
    trusted,
  });
  if (!checked.ok) return tell(context, { what: "ledger", ...checked }, "");
  const journals = new Map<RunId, JournalFacts>();
  for (let offset = 0; ; offset += PAGE) {
    const { runs } = await store.listRuns({ limit: PAGE, offset });
    for (const run of runs) {
      const verified = await verifyStoredRun(home.store, run);
      if (!verified.ok) return tell(context, { what: run.runId, ...verified }, "");
      journals.set(run.runId, factsOf(run, verified.entries));
    }
    if (runs.length < PAGE) break;
  }
  // What an index has lost is there, and not found.
  const damage = checkIntegrity(context.home.directory);
  if (damage.length > 0) return tell(context, { ok: false, what: "database", problem: damage.join("; ") }, "");
  const findings = [
    ...auditHome({ homeId: store.homeId, ledger, journals, checkpoints: [], trusted }),
    ...auditCapabilities(ledger, await readAllCapabilities(home)),
  ];
  const ok = findings.length === 0;
  const problem = findings.map(describe).join("; ");
  const verdict = {
    ok,
    what: "home",
    problem: ok ? undefined : problem,
    runs: journals.size,
    ledger: ledger.length,
    signatures: home.signing === null ? "unchecked" : "checked",
    findings,
  };
  return tell(context, verdict, `the home holds: ${plural(journals.size, "run")}, ${ledger.length} ledger entries`);
}

async function readWholeLedger({ store }: ReadableHome): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (;;) {
    const page = await store.readLedger(entries.length, PAGE);
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

async function readAllCapabilities({ store }: ReadableHome): Promise<readonly SessionCapability[]> {
  const known: SessionCapability[] = [];
  for (;;) {
    const page = await store.allCapabilities({ limit: PAGE, offset: known.length });
    known.push(...page);
    if (page.length < PAGE) return known;
  }
}

function factsOf(
  { contractHash }: StoredRun,
  entries: readonly { hash: Hash; kind: string; decided: object }[],
): JournalFacts {
  const last = entries.at(-1);
  const outcome = last?.kind === "TERMINATE" && "outcome" in last.decided ? last.decided.outcome : null;
  return {
    seq: entries.length,
    outcome: outcome as JournalFacts["outcome"],
    hashAt: (seq) => (seq === 0 ? genesisHash(contractHash) : (entries[seq - 1]?.hash ?? null)),
  };
}

function describe(finding: Finding | CapabilityFinding): string {
  const { code, ledgerSeq } = finding;
  const what = "runId" in finding ? finding.runId : `${finding.capability} of ${finding.sessionId}`;
  return [code, what, ledgerSeq === null ? null : `ledger entry ${ledgerSeq}`]
    .filter((part) => part !== null)
    .join(" ");
}

async function readIfFile(path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return null;
    throw unreadable(path, error);
  }
}

/** A receipt is short, whatever its run did. */
const MAX_RECEIPT_BYTES = 4096;

function isReceipt(file: Uint8Array): boolean {
  return file.length <= MAX_RECEIPT_BYTES && Buffer.from(file).includes(RECEIPT_FORMAT);
}

const BUNDLE_KEYS = ['"bodies":', '"signature":', '"public_key":'];

/** A bundle is one document with a format; a journal file is a document a line. Either may be damaged. */
function isBundle(file: Uint8Array): boolean {
  const [firstLine = ""] = Buffer.from(file).toString("utf8").trimStart().split("\n", 1);
  return !firstLine.includes('"prev":') || BUNDLE_KEYS.some((key) => firstLine.includes(key));
}

function unreadable(path: string, cause: unknown): BootError {
  const hint = "Name a bundle, a journal file or a run.";
  return new BootError("verify.unreadable", `${path} cannot be read`, hint, { cause });
}
