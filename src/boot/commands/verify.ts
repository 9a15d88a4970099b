/** `surety verify FILE|RUN|--home`: do the chains hold? Names the first bad entry; needs no network and no gateway. */
import { readCheckpointFile } from "../../adapters/checkpoint-file/open-checkpoint-file.ts";
import { RunRecordsComparison } from "../../adapters/records/compare-run-records.ts";
import { SessionFilesComparison } from "../../adapters/records/compare-session-files.ts";
import { checkIntegrity } from "../../adapters/store-sqlite/check-database.ts";
import { isWalLost } from "../../adapters/store-sqlite/lost-wal.ts";
import { plural } from "../../adapters/terminal/quantities.ts";
import { type Signer, verifyFile } from "../../assistant/verification/verify-file.ts";
import { type HomeFiles, verifyHome } from "../../assistant/verification/verify-home.ts";
import { verifyStoredRun } from "../../assistant/verification/verify-stored-run.ts";
import { readCheckpointRecords } from "../../kernel/journal/checkpoint-records.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { readBoundedFile, UnreadableFile } from "../read-bounded-file.ts";
import { describedTools, findRun, type ReadableHome, withHome } from "../read-home.ts";
import { findSigningKey, keyMissing, verifySignature } from "../signing-key.ts";
import { systemClock } from "../system-clock.ts";

/** What is exported is far smaller; beyond this it would not fit into memory as text. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

export const command: Action = {
  summary: "check a bundle, a receipt, a journal file, a run or the whole home",
  arguments: ["[FILE|RUN]"],
  options: {
    key: { type: "string", value: "KEY", summary: "the public key that must have signed it; another one is an error" },
  },
  examples: ["surety verify run.json", "surety verify run_0123", "surety verify --home"],
  takesBareHome: true,
  async run(context) {
    const [target] = context.arguments;
    if (target === undefined) {
      const witnesses = await readWitnesses(context, null);
      return withHome(context, (home) => checkHome(context, home, witnesses));
    }
    const file = await readIfFile(target);
    if (file === null && context.options.text("key") !== undefined && !/[/.\\]/.test(target)) {
      throw usageError("--key is for files and the home", "Export the run: surety runs export RUN --out FILE.");
    }
    if (file !== null) return checkFile(context, target, file);
    // Run ids hold none of these characters.
    if (/[/.\\]/.test(target)) throw new BootError("not_found", `there is no file ${target}`, "Check its path.");
    return withHome(context, (home) => checkRun(context, home, target));
  },
};

interface Verdict {
  readonly ok: boolean;
  readonly what: string;
  readonly entry?: number | undefined;
  readonly problem?: string | undefined;
  readonly [fact: string]: unknown;
}

/** `good` is the line for a verdict that is ok. */
function print({ output }: CommandContext, verdict: Verdict, good: string): number {
  output.result(verdict, () => {
    const where = verdict.entry === undefined ? "" : `entry ${verdict.entry}: `;
    if (verdict.ok) output.line(good);
    else output.remark(`error verify.failed: ${verdict.what}: ${where}${verdict.problem ?? ""}`);
  });
  return verdict.ok ? EXIT.success : EXIT.failure;
}

async function checkFile(context: CommandContext, what: string, file: Uint8Array): Promise<number> {
  const named = context.options.text("key");
  const home = await findHomeKey(context);
  const verdict = verifyFile(file, { verifySignature, named, home });
  if (!verdict.ok) {
    const { signed, ...refused } = verdict;
    const whose = signed === undefined ? {} : keyFacts(signed.publicKey, signed.signer, home);
    return print(context, { what, ...refused, ...whose }, "");
  }
  if (verdict.kind === "journal") return printJournal(context, what, verdict);
  const { publicKey, signer } = verdict;
  const keys = keyFacts(publicKey, signer, home);
  if (signer === "unknown") {
    const none = home === null ? "; this home has no key to compare with" : ", not this home's";
    context.output.remark(
      `warning verify.unknown-signer: the key is unknown${none}. The file was not changed since it was signed, but anyone may have signed it: compare the key with one you know, or name that one with --key`,
    );
  }
  if (verdict.kind === "receipt") {
    const { run_id, outcome, tokens } = verdict.receipt;
    const good = `${what} is intact: ${run_id} ended ${outcome}, ${tokens} tokens, ${formatCost(verdict.receipt)}, ${signedBy(publicKey, signer)}`;
    return print(context, { ok: true, what, ...verdict.receipt, ...keys }, good);
  }
  const { runId, head, outcome, erased } = verdict;
  const withheld = erased.length === 0 ? "" : `without ${erased.length} of its texts, `;
  return print(
    context,
    { ok: true, what, run_id: runId, outcome, head_hash: head, erased, ...keys },
    `${what} is intact: ${runId} ended ${outcome}, head ${head}, ${withheld}${signedBy(publicKey, signer)}`,
  );
}

const WHOSE = { named: "the key you named", home: "this home's key", unknown: "an unknown key" } as const;

function signedBy(publicKey: string, signer: Signer): string {
  return `signed by ${WHOSE[signer]}, ${publicKey}`;
}

function keyFacts(publicKey: string, signer: Signer, home: string | null) {
  return { public_key: publicKey, signer, home_key: home };
}

/** Null also where it cannot be read: a file can be checked without a home. */
async function findHomeKey({ home }: CommandContext): Promise<string | null> {
  try {
    return (await findSigningKey(home))?.publicKey ?? null;
  } catch (error) {
    if (error instanceof BootError) return null;
    throw error;
  }
}

async function checkRun(context: CommandContext, home: ReadableHome, id: string): Promise<number> {
  const verified = await verifyStoredRun(home.store, await findRun(home, id));
  return verified.ok ? printJournal(context, id, verified) : print(context, { what: id, ...verified }, "");
}

function printJournal(
  context: CommandContext,
  what: string,
  { head, length, erased }: { readonly head: string; readonly length: number; readonly erased?: readonly string[] },
): number {
  const verdict = { ok: true, what, head_hash: head, entries: length, ...(erased === undefined ? {} : { erased }) };
  const gone = erased === undefined || erased.length === 0 ? "" : `, ${plural(erased.length, "text")} erased`;
  return print(context, verdict, `${what} is intact: ${length} entries, head ${head}${gone}`);
}

/** `since`: further checkpoints, exported earlier. */
export async function checkHome(
  context: CommandContext,
  { store, signing, config }: ReadableHome,
  { isLogLost, own, since }: HomeWitnesses,
): Promise<number> {
  const named = context.options.text("key");
  const trusted = named === undefined ? signing : { publicKey: named, verifySignature };
  if (trusted === null) context.output.remark(`${keyMissing(context.home).message}: signatures are not checked`);
  const { directory } = context.home;
  const { summarize } = describedTools(context, config);
  const startedMs = systemClock.monotonicMs();
  const verdict = await verifyHome({
    store,
    trusted,
    kept: keptIn({ isLogLost, own, since }),
    findDamage: () => checkIntegrity(directory),
    openFiles: () => openFiles(directory, store, summarize),
  });
  if (!("runs" in verdict)) return print(context, { ...verdict }, "");
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  const perSecond = Math.round((verdict.entries + verdict.ledger) / seconds);
  const good = `the home is intact: ${plural(verdict.runs, "run")}, ${verdict.ledger} ledger entries, and the files; ${perSecond} entries per second`;
  return print(context, { ...verdict, entries_per_second: perSecond }, good);
}

function openFiles(directory: string, store: Store, summarize: Toolbox["summarize"]): HomeFiles {
  const records = new RunRecordsComparison(directory, store);
  const sessions = new SessionFilesComparison(directory, store, summarize);
  return {
    async begin() {
      await records.begin();
      await sessions.begin();
    },
    async ended(...run) {
      records.ended(...run);
      await sessions.ended(...run);
    },
    imported: (...session) => sessions.imported(...session),
    finish: async (isNewer) => [...(await records.finish(isNewer)), ...(await sessions.finish(isNewer))],
  };
}

export interface HomeWitnesses {
  readonly isLogLost: boolean;
  readonly own: Uint8Array;
  readonly since: Uint8Array | null;
}

/** Before the database is opened, and before it is read: it may grow meanwhile, but never shrink. */
export async function readWitnesses({ home }: CommandContext, since: Uint8Array | null): Promise<HomeWitnesses> {
  return { isLogLost: isWalLost(home.database), own: await readCheckpointFile(home.checkpointFile), since };
}

function keptIn({ isLogLost, own, since }: HomeWitnesses) {
  const { records, bad } = readCheckpointRecords(own);
  const lost = isLogLost ? [{ kind: "wal.lost", ts: timestampOf(systemClock.nowMs()) } as const] : [];
  const more = since === null ? [] : readCheckpointRecords(since).records;
  return { records: [...records, ...lost, ...more], bad, isMissing: own.length === 0 };
}

async function readIfFile(path: string): Promise<Uint8Array | null> {
  try {
    return await readBoundedFile(path, MAX_FILE_BYTES);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: UnreadableFile): BootError {
  const hint = "Name a bundle, a journal file or a run.";
  return new BootError("verify.unreadable", `${path} cannot be read (${cause.why})`, hint, { cause });
}
