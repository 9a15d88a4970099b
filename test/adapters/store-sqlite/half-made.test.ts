/** A database whose creation was killed halfway. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { temporaryHome } from "./temporary-home.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

test("a database that a kill left with a rollback journal is created again", async () => {
  const { home } = temporary;
  mkdirSync(home, { recursive: true });
  const making = join(home, "making.db");
  const db = new DatabaseSync(making);
  // More than the cache holds: pages reach the file before the end, and what they were stands in the journal.
  db.exec("PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (text TEXT)");
  const insert = db.prepare("INSERT INTO half VALUES (?)");
  for (let row = 0; row < 100; row += 1) insert.run("x".repeat(4096));
  copyFileSync(making, databaseFile(home));
  copyFileSync(`${making}-journal`, `${databaseFile(home)}-journal`);
  db.close();
  const store = await temporary.open();
  expect(await store.listRuns({ limit: 1, offset: 0 })).toMatchObject({ total: 0 });
  await store.close();
});
