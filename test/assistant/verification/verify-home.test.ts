/** A whole home is verified: what an honest one has, and what somebody with SQL took from it. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { openSqliteReader } from "../../../src/adapters/store-sqlite/open-sqlite-reader.ts";
import { openSqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { findHome, openHome } from "../../../src/boot/home.ts";
import { main } from "../../../src/boot/main.ts";
import { openSurety } from "../../../src/boot/open-surety.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { systemRandomness } from "../../../src/boot/system-randomness.ts";
import type { BodyRef } from "../../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../../src/runtime/ports/approver.ts";
import type { StoredRun } from "../../../src/runtime/ports/store.ts";
import { capturedStreams } from "../../boot/captured-streams.ts";
import { readOk } from "../../boot/config/example-config.ts";
import { temporaryDirectory, temporaryHome } from "../../boot/temporary-home.ts";
import { verifies } from "../../requirements.ts";

async function verify(directory: string) {
  const streams = capturedStreams();
  const code = await main(["--home", directory, "verify", "--json"], streams, () => undefined);
  return { code, verdict: JSON.parse(streams.written().stdout) };
}

const homes: string[] = [];

/** A home with three runs and a request for a capability; each caller gets a copy. */
async function homeWithRuns(): Promise<string> {
  const made = homes[0] ?? (await makeHome());
  const copy = join(await temporaryDirectory(), "home");
  await cp(made, copy, { recursive: true });
  return copy;
}

async function makeHome(): Promise<string> {
  const directory = join(await mkdtemp(join(tmpdir(), "surety-verify-")), "home");
  homes.push(directory);
  for (const words of ["list files", "hello", "list files"]) {
    await main(["--home", directory, "run", words], capturedStreams(), () => undefined);
  }
  return directory;
}
afterAll(() => Promise.all(homes.map((directory) => rm(join(directory, ".."), { recursive: true }))));

function tamper(directory: string, sql: string): void {
  const db = new DatabaseSync(join(directory, "surety.db"));
  db.exec(sql);
  db.close();
}

verifies("X-24", "a home as it was left verifies", async () => {
  expect(await verify(await homeWithRuns())).toMatchObject({ code: 0, verdict: { ok: true, runs: 3, findings: [] } });
});

describe("what SQL changed is found", () => {
  const runs = (column: string, value: string) => [
    `runs.${column}`,
    `UPDATE runs SET ${column} = ${value} WHERE position = 2`,
  ];
  const states = (column: string, value: string) => [
    `run_states.${column}`,
    `UPDATE run_states SET ${column} = ${value} WHERE run = 2`,
  ];
  test.each([
    ["all texts", "UPDATE appends SET bodies = NULL; DELETE FROM bodies"],
    ["the texts of the runs", "UPDATE appends SET bodies = NULL"],
    ["the texts read without their run", "DELETE FROM bodies"],
    ["one message", "DELETE FROM bodies WHERE position = 1"],
    ["one answer", "DELETE FROM bodies WHERE position = 2"],
    ["a text beside its run", "UPDATE bodies SET text = 'other' WHERE position = 2"],
    ["spend totals", "UPDATE spend_totals SET tokens = 0, microusd = 0"],
    ["the spend of a model", "DELETE FROM spend_totals WHERE scope LIKE 'model:%'"],
    ["spend moved to another day", "UPDATE spend_totals SET period = '2020-01-01'"],
    runs("source", "'http'"),
    runs("agent_id", "'other'"),
    runs("model", "'builtin:other'"),
    runs("lane", "'other'"),
    runs("parent_run_id", "'run_0'"),
    runs("thinking_mode", "'always'"),
    runs("accepted", "replace(accepted, 'operator', 'anna')"),
    runs("created_at", "'2020-01-01T00:00:00.000Z'"),
    states("session", "1"),
    states("status", "4"),
    states("outcome", "'FAILED_TIMEOUT'"),
    [
      "an ended run opened again",
      "UPDATE run_states SET status = 0, outcome = NULL, reason = NULL, ended_at = NULL, tool_calls = NULL WHERE run = 2",
    ],
    states("reason", "'machine.diverged', tool_calls = 7"),
    states("answer_ref", "NULL"),
    states("ended_at", "'2020-01-01T00:00:00.000Z'"),
    states("tool_calls", "9"),
    states("duration_ms", "9999999"),
  ])("%s", async (_, sql) => {
    const directory = await homeWithRuns();
    tamper(directory, sql as string);
    const { code, verdict } = await verify(directory);
    expect([code, verdict.ok]).toEqual([1, false]);
  });
});

test("a text that was erased is none that is missing", async () => {
  const directory = await homeWithRuns();
  const home = findHome(directory, () => undefined);
  const store = await openSqliteStore({ home: directory, clock: systemClock, random: systemRandomness });
  const [run] = (await store.listRuns({ limit: 1, offset: 0 })).runs;
  const ref = (run as StoredRun).answerRef as BodyRef;
  const stated = { ts: "2026-11-15T00:00:00.000Z", actor: "operator", data: { refs: [ref] } };
  await store.commit([{ type: "append-ledger", draft: { kind: "body.erased", ...stated } }], "barrier");
  await store.close();
  const erase = `UPDATE appends SET bodies = (SELECT json_group_array(json(value)) FROM json_each(bodies)
    WHERE value ->> 0 <> '${ref}') WHERE bodies IS NOT NULL; DELETE FROM bodies WHERE hex(ref) = upper('${ref}')`;
  tamper(home.directory, erase);
  expect(await verify(directory)).toMatchObject({ code: 0, verdict: { ok: true } });
});

verifies("X-24", "a clean stop signs every open run, also beyond one page of them", async () => {
  const home = await temporaryHome();
  await openHome(home);
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover, workers: 0 },
    config: readOk(JSON.stringify({ gateway: { queue: { max: 2000 } } })),
    readVariable: () => undefined,
    onDefect: (_id, error) => expect.fail(String(error)),
  });
  const submit = () =>
    surety.assistant.submit({
      ...{ agentId: "main", message: "later", model: null, thinkingMode: null, contract: {}, approvedTools: [] },
      ...{ sessionId: null, source: "cli", principal: "operator", idempotencyKey: null },
    });
  const submitted = await Promise.all(Array.from({ length: 1001 }, submit));
  expect(submitted.every(({ ok }) => ok)).toBe(true);
  await surety.close(1000);
  const reader = await openSqliteReader(home.directory);
  const [last] = await reader.readLedger((await reader.ledgerHead()).seq - 1, 1);
  await reader.close();
  expect(last?.kind === "checkpoint.signed" ? last.data.openRuns.length : last).toBe(1001);
  expect(await verify(home.directory)).toMatchObject({ code: 0, verdict: { runs: 1001, findings: [] } });
});
