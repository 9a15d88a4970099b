/** The log's length beforehand: worth having, not worth waiting for. */
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectWriter, databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { openSqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { lengthenLog } from "../../../src/adapters/store-sqlite/preallocate-wal.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { mayMount, mountDisk } from "./mounted-disk.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

const BUSY_TIMEOUT_MS = 12_000;

let temporary: TemporaryHome;
beforeEach(async () => {
  temporary = temporaryHome();
  await (await temporary.open()).close();
}, 8_000);
afterEach(() => temporary.dispose());

const logLength = (): number => statSync(`${databaseFile(temporary.home)}-wal`).size;

test("while somebody else writes the log is left as it is, and whoever opens the home does not wait", () => {
  const file = databaseFile(temporary.home);
  const holder = new DatabaseSync(file);
  const db = connectWriter(file, BUSY_TIMEOUT_MS);
  holder.exec("BEGIN IMMEDIATE");
  // Were it to wait as long as a commit does, this test would run out of its time.
  lengthenLog(db, file, BUSY_TIMEOUT_MS);
  expect(logLength()).toBe(0);
  holder.exec("ROLLBACK");
  lengthenLog(db, file, BUSY_TIMEOUT_MS);
  expect(logLength()).toBeGreaterThan(1_000_000);
  // Commits are as patient as before.
  expect(db.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: BUSY_TIMEOUT_MS });
  holder.close();
  db.close();
}, 8_000);

if (mayMount()) {
  test("a disk that it would fill keeps its room", async () => {
    const directory = join(temporary.home, "small");
    const disk = mountDisk(directory, "size=8m,mode=700");
    try {
      const store = await openSqliteStore({ home: directory, clock: systemClock, random: randomBytes });
      await store.commit([], "barrier");
      expect(statSync(`${databaseFile(directory)}-wal`).size).toBeLessThan(1_000_000);
      await store.close();
    } finally {
      disk.remove();
    }
  });
}
