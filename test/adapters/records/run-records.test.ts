/** Records of runs from the real store: what they hold, restarts, torn tails, days. */
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Compile } from "typebox/compile";
import { expect, onTestFinished, test } from "vitest";
import { RunRecords } from "../../../src/adapters/records/run-records.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import { AuditEventSchema } from "../../../src/kernel/journal/views/audit-events.ts";
import { LifecycleEventSchema } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import { runSummary } from "../../../src/kernel/journal/views/run-summary.ts";
import { TraceEventSchema } from "../../../src/kernel/journal/views/trace-events.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { type Store, StoreError } from "../../../src/runtime/ports/store.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { calls, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const NOTES = '<<<NOTES_JSON>>>\n{"add_decisions":["d"],"actions":["request_permission:net"]}\n<<<END_NOTES_JSON>>>';
const FILES = ["contract.json", "events.jsonl", "journal.jsonl", "summary.json", "trace.jsonl"];

const model = scriptedModel(({ messages }) => {
  const message = messages.findLast(({ role }) => role === "user")?.content ?? "";
  if (messages.at(-1)?.role === "tool") return says(`Seen.\n${NOTES}`);
  return calls([{ id: "c1", tool: "look.at", args: { thing: message } }]);
});

async function openRecords(nowMs?: () => number) {
  const home = await mkdtemp(join(tmpdir(), "surety-records-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const clock = nowMs === undefined ? systemClock : { ...systemClock, nowMs };
  const trial = openTrial({ store: store(), world: outsideWorld(), model, clock });
  onTestFinished(() => trial.stop());
  const ended = async (message: string): Promise<RunId> => {
    const runId = await trial.submit(message);
    await trial.ended(runId);
    return runId;
  };
  const unreadable: string[] = [];
  const settle = async (directory = home, from: Store = trial.store): Promise<void> => {
    const onUnreadable = (runId: string) => unreadable.push(runId);
    const records = new RunRecords({ store: from, homeDirectory: directory, onUnreadable });
    while (await records.project(2));
  };
  const folder = (runId: RunId) => join(home, "agents", "main", "runs", runId);
  return { home, trial, ended, settle, folder, unreadable };
}

async function linesOf(file: string): Promise<readonly Record<string, unknown>[]> {
  const text = await readFile(file, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

async function auditOf(home: string) {
  const directory = join(home, "agents", "main", "audit");
  const days = (await readdir(directory)).filter((name) => name.endsWith(".jsonl")).toSorted();
  const lines = await Promise.all(days.map((day) => linesOf(join(directory, day))));
  return {
    directory,
    days,
    lines: lines.flat(),
    byDay: days.map((day, index) => ({ day, lines: lines[index] ?? [] })),
  };
}

/** Every file below the directory with its content; what was moved aside and the place are not records. */
async function contentOf(directory: string): Promise<Record<string, string>> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile() && !/\.torn$|^\.run-records/.test(entry.name));
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  const texts = await Promise.all(paths.map((path) => readFile(path, "utf8")));
  return Object.fromEntries(paths.map((path, index) => [path.slice(directory.length), texts[index] ?? ""]));
}

verifies(
  ["S-6.1", "O-2.1", "O-3.1"],
  "an ended run has a folder with contract, journal, trace of all nine kinds, lifecycle events and summary, and its lines in the audit file of its agent and day",
  async () => {
    const { home, trial, ended, settle, folder } = await openRecords();
    const runId = await ended("the door");
    await settle();
    const files = await readdir(folder(runId));
    expect(files.toSorted()).toEqual(FILES);
    for (const name of files) expect((await stat(join(folder(runId), name))).mode & 0o777, name).toBe(0o600);
    expect((await stat(folder(runId))).mode & 0o777).toBe(0o700);

    const run = await trial.store.findRun(runId);
    const entries = await trial.entries(runId);
    expect(await readFile(join(folder(runId), "contract.json"), "utf8")).toBe(`${run?.contract}\n`);
    const journal = await readFile(join(folder(runId), "journal.jsonl"));
    const contractHash = run?.contractHash;
    if (contractHash === undefined) throw new Error("no run");
    expect(verifyJournal(journal, { contractHash })).toMatchObject({ ok: true, head: run?.ended?.headHash });
    expect(await linesOf(join(folder(runId), "summary.json"))).toEqual([runSummary(entries)]);

    const trace = await linesOf(join(folder(runId), "trace.jsonl"));
    const isTrace = Compile(TraceEventSchema);
    expect(trace.filter((line) => !isTrace.Check(line))).toEqual([]);
    expect(new Set(trace.map(({ kind }) => kind))).toEqual(
      new Set([
        ...["llm_req", "llm_stream", "llm_done", "notes_patch", "actions"],
        ...["retrieval", "tool_plan", "tool_start", "tool_done"],
      ]),
    );

    const events = await linesOf(join(folder(runId), "events.jsonl"));
    const isEvent = Compile(LifecycleEventSchema);
    expect(events.filter((line) => !isEvent.Check(line))).toEqual([]);
    expect(events.map(({ event_type }) => event_type)).toEqual([
      ...["run.created", "run.started", "model.requested", "tool.call", "tool.result", "model.requested"],
      "run.completed",
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));

    const { days, directory, lines } = await auditOf(home);
    expect(days).toEqual([`${String(events[0]?.["ts"]).slice(0, 10)}.jsonl`]);
    expect((await stat(join(directory, days[0] ?? ""))).mode & 0o777).toBe(0o600);
    const isAudit = Compile(AuditEventSchema);
    const own = lines.filter(({ run_id }) => run_id === runId);
    expect(own.filter((line) => !isAudit.Check(line))).toEqual([]);
    expect(own.map(({ event_id }) => event_id)).toEqual(events.map(({ event_id }) => event_id));
    expect(own[3]).toMatchObject({ agent_id: "main", actor: "system", payload: { input: { thing: "the door" } } });
  },
);

verifies("O-3.2", "a secret in a call's arguments reaches no file, and its place is listed", async () => {
  const { home, ended, settle } = await openRecords();
  const runId = await ended(`use ${TOKEN} now`);
  await settle();
  const { lines } = await auditOf(home);
  const called = lines.find((line) => line["run_id"] === runId && line["event_type"] === "tool.call");
  expect(called).toMatchObject({
    payload: { input: { thing: expect.stringMatching(/^use \[REDACTED:\S+\] now$/) } },
    redactions: ["payload.input.thing"],
  });
  expect(JSON.stringify(await contentOf(home))).not.toContain(TOKEN);
});

verifies("O-3.1", "a line goes to the UTC day of its time, in the run's order, wherever the clock jumps", async () => {
  const midnightMs = Date.UTC(2031, 4, 1);
  let asked = 0;
  // Each reading of the clock is on another side of midnight.
  const { home, ended, settle } = await openRecords(() => midnightMs + (asked++ % 2 === 0 ? -5_000 : 5_000) + asked);
  const runId = await ended("the hall");
  await settle();
  const own = (await auditOf(home)).byDay
    .map(({ day, lines }) => ({ day, lines: lines.filter(({ run_id }) => run_id === runId) }))
    .filter(({ lines }) => lines.length > 0);
  expect(own.map(({ day }) => day)).toEqual(["2031-04-30.jsonl", "2031-05-01.jsonl"]);
  for (const { day, lines } of own) {
    expect(lines.every(({ ts }) => `${String(ts).slice(0, 10)}.jsonl` === day)).toBe(true);
    const seqs = lines.map(({ seq }) => Number(seq));
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  }
  const seqs = own.flatMap(({ lines }) => lines.map(({ seq }) => Number(seq)));
  expect(seqs.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

verifies("O-3.1", "after a crash at any byte the files are those of a projection that was never stopped", async () => {
  const { home, trial, ended, settle } = await openRecords();
  await ended("one");
  await settle();
  const place = await readFile(join(home, "agents", ".run-records"), "utf8");
  const before = join(home, "..", `${home.split("/").at(-1)}-before`);
  const fresh = `${before}-fresh`;
  onTestFinished(() => Promise.all([before, fresh].map((each) => rm(each, { recursive: true, force: true }))).then());
  await cp(home, before, { recursive: true });
  const [second] = [await ended("two"), await ended("three")];
  await mkdir(fresh);
  await settle(fresh);
  const whole = await contentOf(fresh);
  const [day = ""] = (await auditOf(fresh)).days;
  const audit = (directory: string) => join(directory, "agents", "main", "audit", day);
  const [from, to] = [(await stat(audit(before))).size, (await stat(audit(fresh))).size];
  expect(to).toBeGreaterThan(from + 1_000);
  const aside = join(home, "agents", "main", "runs", `.${second}.new`);
  for (let at = from; at <= to; at += 211) {
    // The folders are there or half made, the audit file is cut, the place is the earlier one.
    await rm(home, { recursive: true });
    const isHalfMade = at % 2 === 1;
    await cp(isHalfMade ? before : fresh, home, { recursive: true });
    await cp(audit(fresh), audit(home));
    await truncate(audit(home), at);
    if (isHalfMade) await mkdir(aside);
    if (isHalfMade) await writeFile(join(aside, "journal.jsonl"), '{"half');
    await writeFile(join(home, "agents", ".run-records"), at % 3 === 0 ? place : "");
    await settle();
    expect(await contentOf(home), `cut at ${at}`).toEqual(whole);
  }
  expect(await trial.store.openRuns(0, 1)).toEqual([]);
});

test("what is written stays: nothing is written twice, and a torn tail is moved aside", async () => {
  const { home, ended, settle } = await openRecords();
  await ended("one");
  await settle();
  const {
    directory,
    days: [today = ""],
  } = await auditOf(home);
  const path = join(directory, today);
  const whole = await readFile(path, "utf8");
  await settle();
  expect(await readFile(path, "utf8")).toBe(whole);
  await appendFile(path, '{"event_id":"evt_torn');
  await ended("two");
  await settle();
  expect((await readFile(path, "utf8")).startsWith(whole)).toBe(true);
  expect((await auditOf(home)).lines.length).toBeGreaterThan(whole.split("\n").length);
  expect(await readFile(`${path}.torn`, "utf8")).toBe('{"event_id":"evt_torn\n');
});

test("after a restore, where the ledger holds other entries, every run is looked at again", async () => {
  const { home, ended, settle, folder } = await openRecords();
  const runId = await ended("one");
  await settle();
  const placeFile = join(home, "agents", ".run-records");
  const place = await readFile(placeFile, "utf8");
  await rm(folder(runId), { recursive: true });
  await settle();
  await expect(stat(folder(runId))).rejects.toThrow("ENOENT");
  await writeFile(placeFile, place.replace(/[0-9a-f]{64}/, "0".repeat(64)));
  const whole = (await auditOf(home)).lines;
  await settle();
  expect((await readdir(folder(runId))).toSorted()).toEqual(FILES);
  expect((await auditOf(home)).lines).toEqual(whole);
});

test("a run that cannot be read is reported and holds up none; a store that is away is tried again", async () => {
  const { trial, ended, settle, folder, unreadable } = await openRecords();
  const bad = await ended("one");
  const good = await ended("two");
  const failing = (code: "store.corrupt" | "store.unavailable"): Store => ({
    ...trial.store,
    findRun: (runId) =>
      runId === bad ? Promise.reject(new StoreError(code, "it cannot be read")) : trial.store.findRun(runId),
  });
  await expect(settle(undefined, failing("store.unavailable"))).rejects.toThrow("cannot be read");
  await settle(undefined, failing("store.corrupt"));
  expect(unreadable).toEqual([bad]);
  expect((await readdir(folder(good))).toSorted()).toEqual(FILES);
  await expect(stat(folder(bad))).rejects.toThrow("ENOENT");
});
