/** `surety migrate`: the conversations of other assistants' homes, over the real commands. */
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { lockHome } from "../../src/adapters/store-sqlite/open-database.ts";
import { main } from "../../src/boot/main.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const FIXTURES = "test/fixtures/openclaw-home";
const SECRET = "AKIAIOSFODNN7EXAMPLE";

async function openHome() {
  const directory = join(await temporaryDirectory(), "home");
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const migrate = async (from: string, ...words: readonly string[]) => {
    const done = await surety("migrate", "--from", from, "--json", ...words);
    return { ...done, result: done.stdout === "" ? null : JSON.parse(done.stdout) };
  };
  return { directory, surety, migrate };
}

const keysOf = ({ sessions }: { readonly sessions: readonly { readonly key: string }[] }) =>
  sessions.map(({ key }) => key);

async function filesBelow(directory: string): Promise<string> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = names.filter((name) => name.isFile());
  const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")));
  return texts.join("\n");
}

verifies(
  "P-5.2/migrate",
  "a home of each version is taken over: keys, titles, turns, and what was left out",
  async () => {
    const { migrate } = await openHome();
    const first = await migrate(`${FIXTURES}/clawdis`);
    expect(first).toMatchObject({ code: 0, stderr: "", result: { imported: 2, known: 0, empty: 0, bad_lines: [] } });
    expect(first.result.sessions).toMatchObject([
      { key: "agent:main:cli:default:dm:operator", title: null, turns: 1 },
      { key: "agent:main:whatsapp:default:group:120363000000000001@g.us", title: "Birthday", turns: 1 },
    ]);
    const second = await migrate(`${FIXTURES}/clawdbot`);
    expect(second).toMatchObject({ code: 0, result: { imported: 4, empty: 1, failed: 0, missing_agents: ["work"] } });
    expect(second.result.bad_lines).toEqual([expect.stringMatching(/0001\.jsonl:6: is no JSON object$/)]);
    expect(second.result.sessions).toMatchObject([
      { key: "agent:main:cli:default:dm:operator", title: "Ada at home", turns: 2 },
      { key: "agent:main:telegram:default:group:-1001234567890%3Atopic%3A7", title: "Family", turns: 1 },
      { key: "agent:main:imported:default:run:aaaa0001-0000-4000-8000-000000000003", title: null, turns: 1 },
      { status: "empty" },
      { key: "agent:work:slack:acme:dm:u0123", title: null, turns: 1 },
    ]);
    const third = await migrate(`${FIXTURES}/openclaw`);
    expect(third.result.sessions).toMatchObject([
      { key: "agent:main:discord:default:dm:42", title: "Heartbeats", turns: 1 },
    ]);
  },
);

test("a second time nothing is taken over twice; --dry-run changes nothing, not even that there is no home", async () => {
  const { directory, migrate } = await openHome();
  const dry = await migrate(`${FIXTURES}/clawdbot`, "--dry-run");
  expect(dry).toMatchObject({ code: 0, result: { imported: 0, would_import: 4 } });
  await expect(readdir(directory)).rejects.toMatchObject({ code: "ENOENT" });
  const first = await migrate(`${FIXTURES}/clawdbot`);
  const again = await migrate(`${FIXTURES}/clawdbot`);
  expect(again).toMatchObject({ code: 0, result: { imported: 0, known: 4 } });
  const ids = (result: { sessions: { session_id: string | null }[] }) => result.sessions.map((row) => row.session_id);
  expect(ids(again.result)).toEqual(ids(first.result));
  expect((await migrate(`${FIXTURES}/clawdbot`, "--dry-run")).result).toMatchObject({ would_import: 0, known: 4 });
});

test("imported turns are read everywhere as what they are, and hold no secret", async () => {
  const { directory, surety, migrate } = await openHome();
  const { result } = await migrate(`${FIXTURES}/clawdbot`);
  expect(keysOf(result)[0]).toBe("agent:main:cli:default:dm:operator");
  const file = join(directory, "agents/main/sessions/agent:main:cli:default:dm:operator.jsonl");
  const written = (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(written.map(({ role, content }) => [role, content])).toEqual([
    ["user", expect.stringMatching(/^My key is \[REDACTED:[\w-]+\], keep it$/)],
    ["assistant", "I will not repeat it."],
    ["user", "What is in this picture?\n[image: image/png]"],
    ["tool", "tool image.look result (imported_2_1)\nerror: no such model"],
    ["tool", "tool exec result (imported_2_2)\nerror: There is no result in the transcript."],
    ["assistant", "A cat."],
  ]);
  expect(written.every((line) => !("run_id" in line) && line.session_id === result.sessions[0].session_id)).toBe(true);
  expect(await filesBelow(directory)).not.toContain(SECRET);
  expect(await surety("verify", "--home")).toMatchObject({ code: 0 });
  expect((await surety("runs", "ls", "--json")).stdout).toContain('"runs": []');
});

test("the newest form, one database per agent, is read as its transcripts were", async () => {
  const other = join(await temporaryDirectory(), "openclaw");
  await cp(`${FIXTURES}/openclaw`, other, { recursive: true });
  const sessions = join(other, "agents/main/sessions");
  const [name = ""] = (await readdir(sessions)).filter((file) => file.endsWith(".jsonl"));
  const lines = (await readFile(join(sessions, name), "utf8")).trim().split("\n");
  const index = JSON.parse(await readFile(join(sessions, "sessions.json"), "utf8"));
  await rm(sessions, { recursive: true });
  await mkdir(join(other, "agents/main/agent"));
  const db = new DatabaseSync(join(other, "agents/main/agent/openclaw-agent.sqlite"));
  db.exec(`
    CREATE TABLE session_entries (
      session_key TEXT NOT NULL PRIMARY KEY, session_id TEXT NOT NULL, entry_json TEXT NOT NULL, updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE transcript_events (
      session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL, created_at INTEGER NOT NULL,
      PRIMARY KEY (session_id, seq)
    ) STRICT;`);
  const sessionId = name.replace(".jsonl", "");
  for (const [key, entry] of Object.entries(index)) {
    db.prepare("INSERT INTO session_entries VALUES (?, ?, ?, 0)").run(key, sessionId, JSON.stringify(entry));
  }
  for (const [seq, line] of lines.entries()) {
    db.prepare("INSERT INTO transcript_events VALUES (?, ?, ?, 1)").run(sessionId, seq, line);
  }
  db.close();
  const { migrate } = await openHome();
  const fromDatabase = await migrate(other);
  const known = await migrate(`${FIXTURES}/openclaw`);
  expect(fromDatabase.result.sessions).toMatchObject([{ key: "agent:main:discord:default:dm:42", turns: 1 }]);
  // The same conversation.
  expect(known.result).toMatchObject({ imported: 0, known: 1 });
});

test("what is no such home is refused, and so is a home in use; both are one sentence", async () => {
  const { directory, surety, migrate } = await openHome();
  const elsewhere = await temporaryDirectory();
  await writeFile(join(elsewhere, "notes.txt"), "");
  for (const wrong of [elsewhere, join(elsewhere, "missing"), join(elsewhere, "notes.txt")]) {
    const refused = await surety("migrate", "--from", wrong);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^error migrate\.no-home: .* is no OpenClaw, Moltbot or Clawdbot home/);
  }
  expect(await surety("migrate")).toMatchObject({ code: 2 });
  await expect(readdir(directory)).rejects.toMatchObject({ code: "ENOENT" });
  await migrate(`${FIXTURES}/clawdis`);
  expect((await surety("migrate", "--from", directory)).stderr).toContain("migrate.no-home");
  const lock = lockHome(directory);
  const busy = await surety("migrate", "--from", `${FIXTURES}/clawdbot`);
  const looked = await migrate(`${FIXTURES}/clawdbot`, "--dry-run");
  lock.release();
  expect(busy).toMatchObject({ code: 1, stdout: "" });
  expect(busy.stderr).toMatch(/^error migrate\.home-in-use: .*nothing was taken over/);
  expect(looked.result).toMatchObject({ would_import: 4 });
});
