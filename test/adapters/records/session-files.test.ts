/** Session files from the real store: names, lines, restarts, torn tails, segments. */
import { appendFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { SessionFiles } from "../../../src/adapters/records/session-files.ts";
import { SessionContext } from "../../../src/assistant/context/session-context.ts";
import { sessionFileName } from "../../../src/assistant/sessions/session-file.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { OPERATOR, openChat, said } from "../../assistant/sessions/open-chat.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { calls, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
let peers = 0;

const model = scriptedModel((request) => {
  const { content } = request.messages.at(-1) ?? { content: "" };
  return content === "look" ? calls([{ id: "c1", tool: "look.at", args: { thing: "it" } }]) : says(`heard ${content}`);
});

async function openTalk(options: { readonly maxBytes?: number; readonly storePartials?: boolean } = {}) {
  const { maxBytes = 1_000_000, storePartials = false } = options;
  const agentsDirectory = await mkdtemp(join(tmpdir(), "surety-files-"));
  onTestFinished(() => rm(agentsDirectory, { recursive: true, force: true }));
  const trial = openTrial({ store: store(), world: outsideWorld(), model });
  const errors: unknown[] = [];
  const reopen = () =>
    new SessionFiles({
      ...{ store: trial.store, clock: systemClock, agentsDirectory, maxBytes, storePartials },
      context: new SessionContext({
        ...{ ...trial.drafting, readAgentFile: trial.readAgentFile, model: () => null, clock: systemClock },
        idleMs: () => 1_800_000,
      }),
      onError: (error) => errors.push(error),
    });
  const { chat } = openChat(trial);
  peers += 1;
  const senderId = `peer ${peers}`;
  const ask = async (text: string): Promise<string> => {
    const received = await chat.receive(said(text, { senderId }), OPERATOR);
    if (!received.ok || received.kind !== "run") throw new Error(JSON.stringify(received));
    await trial.ended(received.runId);
    return received.runId;
  };
  const path = join(agentsDirectory, "main", "sessions", `agent:main:http:default:dm:peer%20${peers}.jsonl`);
  const lines = async (file = path) =>
    (await readFile(file, "utf8"))
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { trial, chat, ask, senderId, reopen, path, lines, agentsDirectory, errors };
}

verifies(
  ["P-5.2/file", "P-6/session-path"],
  "a session's file lies where the seed says, under its key, readable by its owner alone",
  async () => {
    const { ask, reopen, path, lines, trial } = await openTalk();
    await ask("look");
    await ask("thanks");
    await reopen().settle();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await lines()).map(({ role }) => role)).toEqual(["user", "tool", "assistant", "user", "assistant"]);
    expect((await lines())[1]).toMatchObject({ tool_name: "look.at", tool_call_id: "c1" });
    expect(sessionFileName("agent:main:telegram:123456789:dm:987654321", false)).toBe(
      "agent:main:telegram:123456789:dm:987654321.jsonl",
    );
    expect(sessionFileName("agent:main:whatsapp:+15551234567:dm:+15559876543", false)).toBe(
      "agent:main:whatsapp:+15551234567:dm:+15559876543.jsonl",
    );
    await trial.stop();
  },
);

describe("a file name", () => {
  test("never leaves its directory, and no two keys share one", () => {
    const keys = [
      "../../etc/passwd",
      ".hidden",
      "a/b",
      "a%2Fb",
      "a\0b",
      "User",
      "user",
      "a".repeat(5000),
      `${"a".repeat(5000)}b`,
    ];
    for (const foldsCase of [false, true]) {
      const names = keys.map((key) => sessionFileName(key, foldsCase));
      for (const name of names) {
        expect(name).toMatch(/^[A-Za-z0-9:+@_%][A-Za-z0-9:+@._%~-]*\.jsonl$/);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(206);
      }
      const folded = names.map((name) =>
        foldsCase ? name.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()) : name,
      );
      expect(new Set(folded.map((name) => (foldsCase ? name.toLowerCase() : name))).size).toBe(keys.length);
    }
  });
});

test("each run is written once, over restarts and lost places", async () => {
  const { ask, reopen, path, lines, trial, agentsDirectory } = await openTalk();
  const first = await ask("one");
  await reopen().settle();
  const second = await ask("two");
  const runsIn = async () => (await lines()).map(({ run_id }) => run_id);
  await rm(join(agentsDirectory, ".session-files"));
  await reopen().settle();
  await reopen().settle();
  expect(await runsIn()).toEqual([first, first, second, second]);
  const before = await readFile(path, "utf8");
  await rm(path);
  await rm(join(agentsDirectory, ".session-files"));
  await reopen().settle();
  expect(await readFile(path, "utf8")).toBe(before);
  await trial.stop();
});

test("a torn tail is moved aside, and the lines before it stay as they are", async () => {
  const { ask, reopen, path, lines, trial } = await openTalk();
  const first = await ask("one");
  await reopen().settle();
  const whole = await readFile(path, "utf8");
  for (let cut = 1; cut < 40; cut += 7) {
    await writeFile(path, whole);
    await appendFile(path, '{"id":"run_x","session_id":"torn here"}'.slice(0, cut));
    const second = await ask(`after ${cut}`);
    await reopen().settle();
    expect((await readFile(path, "utf8")).startsWith(whole)).toBe(true);
    const ids = (await lines()).map(({ run_id }) => run_id);
    expect(ids.slice(0, 2)).toEqual([first, first]);
    expect(ids).toContain(second);
    await truncate(path, whole.length);
  }
  expect(await readFile(`${path}.torn`, "utf8")).toContain('{"id"');
  await trial.stop();
});

verifies(
  "P-5.3/maxBytes",
  "a file that would grow beyond maxBytes becomes a numbered segment; nothing is written twice",
  async () => {
    const { ask, reopen, path, trial } = await openTalk({ maxBytes: 1500 });
    const asked: string[] = [];
    for (const text of ["one", "two", "three", "four", "five"]) {
      asked.push(await ask(text));
      await reopen().settle();
    }
    const folder = join(path, "..");
    const names = (await readdir(folder)).filter((name) => name.startsWith(path.slice(folder.length + 1)));
    expect(names.length).toBeGreaterThan(1);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    const ids = texts
      .join("")
      .split("\n")
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { run_id: string }).run_id);
    expect(ids.toSorted()).toEqual(asked.flatMap((id) => [id, id]).toSorted());
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1500);
    await trial.stop();
  },
);

verifies("P-5.5/local", "a local session keeps pieces of an answer only where the config says so", async () => {
  for (const storePartials of [false, true]) {
    const { trial, chat, senderId, reopen, lines } = await openTalk({ storePartials });
    const files = reopen();
    const received = await chat.receive(said("a long answer, please", { senderId }), OPERATOR);
    if (!received.ok || received.kind !== "run") throw new Error("not accepted");
    files.follow(trial.runtime, received.runId);
    await trial.ended(received.runId);
    await files.settle();
    const partial = (await lines()).filter((line) => line["partial"] === true);
    expect(partial.length > 0).toBe(storePartials);
    if (storePartials) expect(partial.map(({ content }) => content).join("")).toBe("heard a long answer, please");
    await trial.stop();
  }
});

verifies("P-5.5/external", "an external session keeps final answers only, whatever the config says", async () => {
  const { trial, chat, senderId, reopen, agentsDirectory, lines } = await openTalk({ storePartials: true });
  const files = reopen();
  for (const channel of ["telegram", "email"]) {
    const received = await chat.receive(said("a long answer, please", { channel, senderId }), OPERATOR);
    if (!received.ok || received.kind !== "run") throw new Error("not accepted");
    files.follow(trial.runtime, received.runId);
    await trial.ended(received.runId);
    await files.settle();
    const directory = join(agentsDirectory, "main", "sessions");
    const [name = ""] = (await readdir(directory)).filter((each) => each.includes(`:${channel}:`));
    const written = await lines(join(directory, name));
    expect(written.filter((line) => line["partial"] === true)).toEqual([]);
    expect(written.at(-1)).toMatchObject({ role: "assistant", content: "heard a long answer, please" });
  }
  await trial.stop();
});

test("a run that nobody continued has no file", async () => {
  const { trial, reopen, agentsDirectory, errors } = await openTalk();
  const files = reopen();
  await files.settle();
  const before = await readdir(join(agentsDirectory, "main", "sessions")).catch(() => []);
  const runId = await trial.submit("alone");
  const { sessionId } = await trial.ended(runId);
  await files.settle();
  expect(await readdir(join(agentsDirectory, "main", "sessions")).catch(() => [])).toEqual(before);
  await trial.ended(await trial.submit("not alone any more", { sessionId }));
  await files.settle();
  expect((await readdir(join(agentsDirectory, "main", "sessions"))).length).toBe(before.length + 1);
  expect(errors).toEqual([]);
  await trial.stop();
});
