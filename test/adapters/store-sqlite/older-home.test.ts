/** Homes of earlier versions open unchanged. */
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { migrate } from "../../../src/adapters/store-sqlite/schema.ts";
import { newBody, runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { temporaryHome } from "./temporary-home.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

test("journals whose rows lay in the order of their runs are read and appended to as before", async () => {
  const runs = [runOfItsOwn(), runOfItsOwn()];
  const journals = runs.map(({ runId }) => new SampleJournal(runId));
  const bodies = runs.map(() => newBody("what was said"));
  const made = await temporary.open();
  for (const { writes } of runs) await made.commit(writes, "barrier");
  const appendAll = (store: typeof made, form: "append" | "appendLines") =>
    Promise.all(
      journals.map((journal, at) => {
        const append = { ...journal[form](3), bodies: bodies.slice(at, at + 1) };
        return store.commit([append], "barrier");
      }),
    );
  await appendAll(made, "appendLines");
  await appendAll(made, "appendLines");
  const readAll = (store: typeof made) =>
    Promise.all(runs.map(async ({ runId }) => [await store.readEntries(runId, 0, 100), await store.headOf(runId)]));
  const before = await readAll(made);
  await made.close();
  takeBack(databaseFile(temporary.home));

  const opened = await temporary.open();
  expect(await readAll(opened)).toEqual(before);
  for (const [at, { runId, sessionId }] of runs.entries()) {
    const { ref, salt, text } = bodies[at] as (typeof bodies)[number];
    expect(await opened.readBodies(sessionId, [ref], runId)).toEqual(new Map([[ref, { salt, text }]]));
  }
  await appendAll(opened, "append");
  for (const { runId, lines } of journals) expect(await opened.readEntries(runId, 0, 100)).toEqual(lines);
});

/** As version 3 had it. */
function takeBack(file: string): void {
  const db = new DatabaseSync(file);
  db.exec(`
    ALTER TABLE appends RENAME TO newer;
    CREATE TABLE appends (place INTEGER PRIMARY KEY, lines TEXT NOT NULL, bodies TEXT) STRICT;
    INSERT INTO appends SELECT place, lines, bodies FROM newer;
    DROP TABLE newer;
    PRAGMA user_version = 3;
  `);
  db.close();
}

test("the released schema is byte for byte what it was: a change needs a migration", () => {
  const db = new DatabaseSync(":memory:");
  migrate(db, 0, "home_x");
  const schema = db.prepare("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").all();
  db.close();
  expect(createHash("sha256").update(JSON.stringify(schema)).digest("hex")).toBe(
    "fab61fe0121868d7466212338a73dc15358b3368b91b63a95cf1b6cd58c4aa9a",
  );
});
