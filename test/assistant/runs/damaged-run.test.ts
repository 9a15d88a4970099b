/** One damaged row, text or body stays with its run: lists show the others, and every view of the run names the damage. */
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { temporaryHome } from "../../adapters/store-sqlite/temporary-home.ts";
import { openTrial, type Trial } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const OF_RUN = "place / 4194304 = 1";
const OPEN = "UPDATE run_states SET status = 1, outcome = NULL, tool_calls = NULL WHERE run = 1;";
const ENTRY = `UPDATE appends SET lines = 'damaged' WHERE position = (SELECT min(position) FROM appends WHERE ${OF_RUN})`;
const BODIES = `UPDATE appends SET bodies = 'damaged' WHERE ${OF_RUN} AND bodies IS NOT NULL`;
const SHAPE = `UPDATE appends SET bodies = '[1,[2],null]' WHERE ${OF_RUN} AND bodies IS NOT NULL`;
const CONTRACT = "UPDATE runs SET contract = 'damaged' WHERE position = 1";
const MISSING = /^\d+ of its texts are missing or damaged$/;

const model = scriptedModel(inTurns(calls([{ id: "c1", tool: "look.at", args: { thing: "a" } }]), says("seen")));
const home = temporaryHome();
let runs: readonly RunId[] = [];
beforeAll(async () => {
  const store = await home.open();
  const trial = openTrial({ store, model, world: outsideWorld() });
  runs = [await trial.submit("first"), await trial.submit("second")];
  for (const run of runs) await trial.ended(run);
  await trial.stop();
  await store.close();
});
afterAll(() => home.dispose());

async function withDamage(damage: string, look: (trial: Trial, damaged: RunId) => Promise<void>): Promise<void> {
  const db = new DatabaseSync(databaseFile(home.home));
  const tables = ["runs", "run_states", "appends"];
  for (const table of tables) db.exec(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
  db.exec(damage);
  const store = await home.open();
  try {
    await look(openTrial({ store, model, world: outsideWorld() }), runs[0] as RunId);
  } finally {
    await store.close();
    for (const table of tables) {
      db.exec(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM kept_${table}; DROP TABLE kept_${table}`);
    }
    db.close();
  }
}

async function eventsOf(trial: Trial, runId: RunId): Promise<{ readonly count: number; readonly problem: unknown }> {
  let count = 0;
  try {
    for await (const _ of (await trial.assistant.watch(runId, 0, new AbortController().signal)) ?? []) count += 1;
    return { count, problem: null };
  } catch (problem) {
    return { count, problem };
  }
}

describe("a damaged run", () => {
  test.each([
    ["an entry", ENTRY, "entry 1 of its journal is damaged"],
    ["its bodies", BODIES, expect.stringMatching(MISSING)],
    ["the shape of its bodies", SHAPE, expect.stringMatching(MISSING)],
    ["its contract", CONTRACT, "its contract is damaged"],
  ])("by %s is listed beside the others, and its record names the damage", async (_, damage, named) => {
    await withDamage(damage, async (trial, damaged) => {
      const { runs: listed } = await trial.assistant.runs({ limit: 10, offset: 0 });
      expect(listed.map(({ id, status }) => [id, status])).toEqual(runs.toReversed().map((id) => [id, "completed"]));
      expect(await trial.assistant.run(damaged)).toMatchObject({
        id: damaged,
        outcome: "COMPLETED_WITH_TOOLS",
        damage: named,
      });
      if (damage === CONTRACT) expect(listed.at(-1)?.damage).toBe("its contract is damaged");
      expect(listed[0]?.damage).toBeUndefined();
      expect((await trial.assistant.run(runs[1] as RunId))?.damage).toBeUndefined();
    });
  });

  test.each([
    ["its row lacks the hashes", "UPDATE run_states SET head_hash = NULL, state_digest = NULL WHERE run = 1"],
    ["it is open and its bodies are damaged", `${OPEN} ${BODIES}`],
    ["it is open and its journal is damaged", `${OPEN} ${ENTRY}`],
    ["it is open and its contract is damaged", `${OPEN} ${CONTRACT}`],
  ])("does not take its page along when %s", async (_, damage) => {
    await withDamage(damage, async (trial) => {
      const { runs: listed } = await trial.assistant.runs({ limit: 10, offset: 0 });
      expect(listed.map(({ id }) => id)).toEqual(runs.toReversed());
    });
  });

  test("is not exported, and its events end with what is wrong", async () => {
    await withDamage(ENTRY, async (trial, damaged) => {
      expect(await trial.assistant.bundle(damaged)).toMatchObject({
        ok: false,
        message: "this run cannot be exported: entry 1 of its journal is damaged",
      });
      const { count, problem } = await eventsOf(trial, damaged);
      expect([count, String(problem)]).toEqual([
        0,
        expect.stringContaining(`Entry 1 of the journal of ${damaged} is damaged`),
      ]);
      expect((await eventsOf(trial, runs[1] as RunId)).problem).toBeNull();
    });
    await withDamage(CONTRACT, async (trial, damaged) => {
      expect(await trial.assistant.bundle(damaged)).toMatchObject({ ok: false, code: "conflict" });
    });
  });

  test("ends by name at the next start when it was open and cannot be read; others are not held up", async () => {
    const accepted = `${OPEN} UPDATE runs SET accepted = 'damaged' WHERE position = 1; DELETE FROM appends WHERE ${OF_RUN}`;
    await withDamage(accepted, async (trial, damaged) => {
      await trial.runtime.recover();
      const second = await trial.submit("third");
      await trial.ended(second);
      await trial.stop();
      expect(await trial.store.findRun(damaged)).toMatchObject({ outcome: "INTERRUPTED", reason: "machine.diverged" });
      expect(trial.defects).toEqual([]);
    });
  });
});
