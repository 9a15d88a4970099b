/** D: one durable insert of a single row, as cheap as SQLite can make it (WAL, FULL), on the disk the homes are on. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { elapsedMs } from "./blocks.ts";
import { removeDirectory, temporaryDirectory } from "./scene.ts";

export interface DurableInsert {
  /** Mean milliseconds of so many inserts. */
  measure(inserts: number): Promise<number>;
  close(): Promise<void>;
}

export async function openDurableInsert(): Promise<DurableInsert> {
  const directory = await temporaryDirectory();
  const db = new DatabaseSync(join(directory, "d.db"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, line TEXT)");
  const insert = db.prepare("INSERT INTO t (line) VALUES (?)");
  const line = "x".repeat(100);
  const insertAll = (inserts: number): void => {
    for (let count = 0; count < inserts; count += 1) insert.run(line);
  };
  // The log's file has reached its length then: a sync that makes it longer takes longer.
  insertAll(1200);
  return {
    measure: async (inserts) => (await elapsedMs(() => insertAll(inserts))) / inserts,
    close: async () => {
      db.close();
      await removeDirectory(directory);
    },
  };
}
