/**
 * `surety migrate --from DIR`: takes over the conversations of an OpenClaw, Moltbot or Clawdbot home, which it only reads.
 *
 * M1. One conversation after the other, each in one transaction: after a crash the same command goes on where it stopped.
 * M2. What cannot be read is named and counted; the rest is taken over.
 * M3. It opens the home itself: with a gateway running it says so and changes nothing. `--dry-run` reads beside it.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  type FoundHome,
  type FoundTranscript,
  findTranscripts,
} from "../../adapters/openclaw-home/find-transcripts.ts";
import { readConversation, sourceOf } from "../../adapters/openclaw-home/read-conversation.ts";
import { openSqliteReader } from "../../adapters/store-sqlite/open-sqlite-reader.ts";
import type { SessionImport } from "../../assistant/sessions/import-session.ts";
import { sessionKey } from "../../assistant/sessions/session-key.ts";
import { noApprover } from "../../runtime/ports/approver.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { BootError, EXIT, systemCodeOf, usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import { loadToken } from "../gateway-access.ts";
import { openSurety } from "../open-surety.ts";
import type { Surety } from "../opened-surety.ts";
import { defectReporter } from "../report-failure.ts";
import { loadSettings, type Settings } from "../settings.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";

interface Row {
  readonly place: string;
  readonly status: "imported" | "would import" | "known" | "empty" | "failed";
  readonly sessionId: string | null;
  readonly key: string | null;
  readonly title: string | null;
  readonly turns: number;
  readonly bad: readonly string[];
}

const PROGRESS_EVERY = 100;
const MAX_SHOWN_PROBLEMS = 20;
const STOP_GRACE_MS = 5_000;

export const command: Action = {
  summary: "take over the conversations of an OpenClaw, Moltbot or Clawdbot home",
  options: {
    from: { type: "string", value: "DIR", summary: "the other home, such as ~/.openclaw; it is only read" },
    "dry-run": { type: "boolean", summary: "say what would be taken over, and change nothing" },
  },
  examples: ["surety migrate --from ~/.clawdbot", "surety migrate --from ~/.openclaw --dry-run"],
  async run(context) {
    const from = context.options.text("from");
    if (from === undefined) throw usageError("--from is missing", "Try: surety migrate --from ~/.openclaw");
    const directory = resolve(from);
    const found = await findTranscripts(directory);
    if (found === null) throw noSuchHome(directory);
    const isDry = context.options.flag("dry-run");
    const rows = isDry ? await lookOver(context, found) : await takeOver(context, found);
    report(context, found, rows, await loadConfig(context.home.configFile));
    return rows.some(({ status }) => status === "failed") ? EXIT.failure : EXIT.success;
  },
};

async function lookOver(context: CommandContext, found: FoundHome): Promise<readonly Row[]> {
  if (!existsSync(context.home.database)) return await eachOf(context, found, { find: async () => null });
  const store = await openSqliteReader(context.home.directory);
  try {
    return await eachOf(context, found, { find: (source) => store.findImport(source) });
  } finally {
    await store.close();
  }
}

async function takeOver(context: CommandContext, found: FoundHome): Promise<readonly Row[]> {
  const surety = await openHere(context, await loadSettings(context));
  try {
    return await eachOf(context, found, surety.sessionImport);
  } finally {
    await surety.close(STOP_GRACE_MS);
  }
}

async function openHere({ home, streams, output }: CommandContext, settings: Settings): Promise<Surety> {
  const { config, readVariable } = settings;
  try {
    return await openSurety({
      ...{ home, config, readVariable, token: await loadToken(home, readVariable, systemRandomness) },
      ...{ approver: noApprover, workers: 0, clock: systemClock, random: systemRandomness },
      onDefect: defectReporter(streams),
      remark: (line) => output.remark(line),
    });
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.in-use")) throw error;
    throw homeInUse(error);
  }
}

function homeInUse(cause: StoreError): BootError {
  return new BootError(
    "migrate.home-in-use",
    "a gateway or another command works on this home, so nothing was taken over",
    "Stop it, run surety migrate again, then surety start.",
    { cause },
  );
}

/** Without `import`, nothing is taken over. */
type Importing = Pick<SessionImport, "find"> & Partial<Pick<SessionImport, "import">>;

async function eachOf(
  { output, streams, isJson }: CommandContext,
  { transcripts }: FoundHome,
  importing: Importing,
): Promise<readonly Row[]> {
  const isWatched = !isJson || streams.stderr.isTTY === true;
  const rows: Row[] = [];
  for (const found of transcripts) {
    rows.push(await takeOne(importing, found));
    if (isWatched && rows.length % PROGRESS_EVERY === 0) output.remark(`${rows.length} of ${transcripts.length} read`);
  }
  return rows;
}

async function takeOne(importing: Importing, found: FoundTranscript): Promise<Row> {
  const nothing = { place: found.place, sessionId: null, key: null, title: null, turns: 0, bad: [] };
  const known = await importing.find(sourceOf(found));
  if (known !== null) return { ...nothing, status: "known", sessionId: known };
  try {
    const { conversation, bad } = await readConversation(found);
    if (conversation === null) return { ...nothing, status: "empty", bad };
    const { key, title, turns } = conversation;
    const row = { ...nothing, key: sessionKey(key), title, turns: turns.length, bad };
    const imported = await importing.import?.(conversation);
    return imported === undefined
      ? { ...row, status: "would import" }
      : { ...row, status: "imported", sessionId: imported.sessionId };
  } catch (error) {
    // The other home's file, not ours: the rest can still be taken over.
    const code = systemCodeOf(error);
    if (code === null) throw error;
    return { ...nothing, status: "failed", bad: [`${found.place}: ${code}`] };
  }
}

function report({ output }: CommandContext, found: FoundHome, rows: readonly Row[], config: Config): void {
  const bad = [...found.bad, ...rows.flatMap((row) => row.bad)];
  const count = (status: Row["status"]): number => rows.filter((row) => row.status === status).length;
  const taken = rows.filter(({ status }) => status === "imported" || status === "would import");
  const agents = new Set(taken.flatMap(({ key }) => key?.split(":")[1] ?? []));
  const missing = [...agents].filter((agent) => agent !== "main" && !Object.hasOwn(config.agents, agent));
  const wire = rows.map(({ sessionId, place, status, key, title, turns }) => {
    return { from: place, status, session_id: sessionId, key, title, turns };
  });
  const counts = { imported: count("imported"), would_import: count("would import"), known: count("known") };
  const result = { ...counts, empty: count("empty"), failed: count("failed"), bad_lines: bad, missing_agents: missing };
  output.result({ ...result, sessions: wire }, () => {
    const shown = taken.map(({ sessionId, turns, key, title }) => {
      return [sessionId ?? "-", String(turns), key ?? "", title ?? ""];
    });
    if (shown.length > 0) output.table(["SESSION", "TURNS", "KEY", "TITLE"], shown);
    output.line(summaryOf(result));
    for (const problem of bad.slice(0, MAX_SHOWN_PROBLEMS)) output.remark(`left out: ${problem}`);
    if (bad.length > MAX_SHOWN_PROBLEMS) output.remark(`left out: ${bad.length - MAX_SHOWN_PROBLEMS} more; see --json`);
    for (const agent of missing) {
      output.remark(
        `agent ${agent} is not configured: its sessions can be read, and continued after surety config set agents.${agent} '{}'`,
      );
    }
  });
}

interface Counts {
  readonly imported: number;
  readonly would_import: number;
  readonly known: number;
  readonly empty: number;
  readonly failed: number;
}

function summaryOf({ imported, would_import, known, empty, failed }: Counts): string {
  const parts = [
    would_import > 0 ? `would take over ${would_import} conversations` : `took over ${imported} conversations`,
    ...(known > 0 ? [`${known} had been taken over before`] : []),
    ...(empty > 0 ? [`${empty} empty`] : []),
    ...(failed > 0 ? [`${failed} could not be read`] : []),
  ];
  return parts.join("; ");
}

function noSuchHome(directory: string): BootError {
  return new BootError(
    "migrate.no-home",
    `${directory} is no OpenClaw, Moltbot or Clawdbot home: it has no sessions/ and no agents/*/sessions/ of one`,
    "Name the directory that holds openclaw.json, such as ~/.openclaw, ~/.moltbot or ~/.clawdbot.",
  );
}
