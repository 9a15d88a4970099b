/**
 * Finds what a Clawdbot, Moltbot or OpenClaw home holds of conversations; reads only.
 *
 * | where | since |
 * |---|---|
 * | `sessions/sessions.json` and `sessions/ID.jsonl` | the first versions, with one agent |
 * | `agents/A/sessions/sessions.json` and `ID.jsonl` | several agents |
 * | `agents/A/agent/openclaw-agent.sqlite` | tables `session_entries`, `transcript_events`: a row per line of a transcript |
 *
 * From openclaw/openclaw docs/reference/session-management-compaction.md at 010f0c8, src/infra/state-migrations.ts at 013c24e
 * and src/state/openclaw-agent-schema.sql at b8a4997; the fields of a row are those of `SessionEntry` in
 * src/config/sessions/types.ts (jimboswankster/moltbot at 3d37bb2).
 *
 * F1. Only files inside the directory of their agent are read, whatever a row says; links are not followed.
 * F2. A transcript that no key leads to (what `/new` left behind) is found too.
 */
import { createReadStream } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import JSON5 from "json5";
import { isAgentId } from "../../kernel/vocabulary/agent-id.ts";
import { type Fields, isFields, type Lines, parseFields, type TranscriptLine } from "./read-transcript.ts";

export interface FoundTranscript {
  readonly agentId: string;
  readonly sessionId: string;
  /** Null when no key leads to it. */
  readonly key: string | null;
  /** What the home keeps about it, `SessionEntry`. */
  readonly entry: Fields;
  /** Its file, or its place in the database. */
  readonly place: string;
  readonly changedMs: number;
  lines(): Lines;
}

export interface FoundHome {
  readonly transcripts: readonly FoundTranscript[];
  /** Files that could not be read. */
  readonly bad: readonly string[];
}

const FIRST_AGENT = "main";
const CONFIG_FILES = ["openclaw.json", "moltbot.json", "clawdbot.json", "clawdis.json"];
const TRANSCRIPT_FILE = /^(?!.*\.(?:checkpoint|trajectory)\b)(.+)\.jsonl$/;
const DATABASE = "openclaw-agent.sqlite";

/** Null when the directory is no such home. */
export async function findTranscripts(directory: string): Promise<FoundHome | null> {
  const names = await namesIn(directory);
  // A home of Surety has `agents/A/sessions/*.jsonl` as well.
  if (names.includes("surety.db")) return null;
  const agents = (await namesIn(join(directory, "agents"))).filter(isAgentId);
  const bad: string[] = [];
  const found = [
    ...(await filesOf(FIRST_AGENT, join(directory, "sessions"), bad)),
    ...(
      await Promise.all(
        agents.map(async (agentId) => {
          const place = join(directory, "agents", agentId);
          const inFiles = await filesOf(agentId, join(place, "sessions"), bad);
          const inDatabase = await rowsOf(agentId, join(place, "agent", DATABASE), bad);
          const known = new Set(inDatabase.map(({ sessionId }) => sessionId));
          return [...inFiles.filter(({ sessionId }) => !known.has(sessionId)), ...inDatabase];
        }),
      )
    ).flat(),
  ];
  const isHome = found.length + bad.length > 0 || CONFIG_FILES.some((name) => names.includes(name));
  return isHome ? { transcripts: found, bad } : null;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(() => [])).sort();
}

async function filesOf(agentId: string, directory: string, bad: string[]): Promise<readonly FoundTranscript[]> {
  const names = await namesIn(directory);
  const byFile = await readIndex(join(directory, "sessions.json"), names, bad);
  const found: FoundTranscript[] = [];
  for (const name of names) {
    const sessionId = TRANSCRIPT_FILE.exec(name)?.[1];
    if (sessionId === undefined) continue;
    const place = join(directory, name);
    const status = await lstat(place);
    if (!status.isFile()) continue;
    const { key, entry } = byFile.get(name) ?? { key: null, entry: {} };
    found.push({ agentId, sessionId, key, entry, place, changedMs: status.mtimeMs, lines: () => linesOf(place) });
  }
  return found;
}

/** `sessions.json`, by the name of the transcript. */
async function readIndex(
  path: string,
  names: readonly string[],
  bad: string[],
): Promise<ReadonlyMap<string, { readonly key: string; readonly entry: Fields }>> {
  if (!names.includes("sessions.json")) return new Map();
  const index: unknown = await readFile(path, "utf8")
    .then((text): unknown => JSON5.parse(text))
    .catch(() => null);
  if (!isFields(index)) {
    bad.push(`${path}: cannot be read, so its transcripts have no keys`);
    return new Map();
  }
  return new Map(
    Object.entries(index).flatMap(([key, entry]) => {
      if (!isFields(entry)) return [];
      const { sessionFile, sessionId } = entry;
      // An absolute path may be of another machine; its last part is the file.
      const name = typeof sessionFile === "string" ? basename(sessionFile) : `${String(sessionId)}.jsonl`;
      return [[name, { key, entry }] as const];
    }),
  );
}

async function* linesOf(path: string): AsyncGenerator<TranscriptLine> {
  let number = 0;
  for await (const text of createInterface({
    input: createReadStream(path, "utf8"),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number += 1;
    yield { place: `${path}:${number}`, text };
  }
}

const SESSIONS = `
  SELECT t.session_id AS sessionId, max(t.created_at) AS changedMs, e.session_key AS key, e.entry_json AS entry
  FROM transcript_events t LEFT JOIN session_entries e ON e.session_id = t.session_id
  GROUP BY t.session_id ORDER BY t.session_id`;
const EVENTS = "SELECT seq, event_json AS text FROM transcript_events WHERE session_id = ? ORDER BY seq";

async function rowsOf(agentId: string, path: string, bad: string[]): Promise<readonly FoundTranscript[]> {
  const status = await lstat(path).catch(() => null);
  if (status?.isFile() !== true) return [];
  try {
    const rows = withDatabase(path, (db) => db.prepare(SESSIONS).all());
    return rows.map((row) => {
      const sessionId = String(row["sessionId"]);
      const key = typeof row["key"] === "string" ? row["key"] : null;
      const entry = parseFields(String(row["entry"])) ?? {};
      const place = `${path}#${sessionId}`;
      const changedMs = Number(row["changedMs"]);
      return { agentId, sessionId, key, entry, place, changedMs, lines: () => eventsOf(path, sessionId) };
    });
  } catch (error) {
    bad.push(`${path}: ${error instanceof Error ? error.message : "cannot be read"}`);
    return [];
  }
}

function* eventsOf(path: string, sessionId: string): Generator<TranscriptLine> {
  const rows = withDatabase(path, (db) => db.prepare(EVENTS).all(sessionId));
  for (const row of rows) yield { place: `${path}#${sessionId}:${String(row["seq"])}`, text: String(row["text"]) };
}

function withDatabase<Result>(path: string, use: (db: DatabaseSync) => Result): Result {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return use(db);
  } finally {
    db.close();
  }
}
