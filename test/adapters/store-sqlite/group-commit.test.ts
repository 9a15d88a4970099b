/** Many commits in one transaction: each fails alone, unless SQLite rolled back the transaction itself. */
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { GroupCommit } from "../../../src/adapters/store-sqlite/group-commit.ts";
import { pack } from "../../../src/adapters/store-sqlite/packed-writes.ts";
import { runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { temporaryHome } from "./temporary-home.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

async function writingTo(runs: number) {
  const made = Array.from({ length: runs }, () => runOfItsOwn());
  const store = await temporary.open();
  for (const { writes } of made) await store.commit(writes, "barrier");
  await store.close();
  const file = databaseFile(temporary.home);
  const group = new GroupCommit({ file, homeId: "home_x", busyTimeoutMs: 100, maxPages: null });
  return { journals: made.map(({ runId }) => new SampleJournal(runId)), group, db: group.db };
}

function rowsOnDisk(): number {
  const db = new DatabaseSync(databaseFile(temporary.home), { readOnly: true });
  const found = Number(db.prepare("SELECT count(*) AS rows FROM appends").get()?.["rows"]);
  db.close();
  return found;
}

test("a refused append does not affect the commits before and after it", async () => {
  const { journals, group, db } = await writingTo(3);
  const [first, second, third] = journals as [SampleJournal, SampleJournal, SampleJournal];
  const report = group.commit([pack([first.append(2)]), pack([second.append(1, 7)]), pack([third.append(1)])]);
  expect(report.refused.map(({ at, failure }) => [at, failure.code])).toEqual([[1, "store.fenced"]]);
  expect(rowsOnDisk()).toBe(2);
  db.close();
});

test("an error that ends the whole transaction writes nothing of the batch", async () => {
  const { journals, group, db } = await writingTo(3);
  const [first, second, third] = journals as [SampleJournal, SampleJournal, SampleJournal];
  // As SQLite does by itself when memory runs out.
  db.exec(`CREATE TEMP TRIGGER gives_up BEFORE INSERT ON appends WHEN new.bodies IS NOT NULL
           BEGIN SELECT RAISE(ROLLBACK, 'gone'); END`);
  const body = { ref: "00", salt: "00", text: "x" } as never;
  const commits = [pack([first.append(1)]), pack([{ ...second.append(1), bodies: [body] }]), pack([third.append(1)])];
  expect(() => group.commit(commits)).toThrow("gone");
  expect([rowsOnDisk(), db.isTransaction]).toEqual([0, false]);
  db.close();
});
