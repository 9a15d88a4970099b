/** Preallocating the WAL saves time and must never cost any. */
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectWriter, databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { openSqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { preallocateWal } from "../../../src/adapters/store-sqlite/preallocate-wal.ts";
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

const walLength = (): number => statSync(`${databaseFile(temporary.home)}-wal`).size;

test("while another process writes, the WAL is left as it is and opening does not wait", () => {
  const file = databaseFile(temporary.home);
  const holder = new DatabaseSync(file);
  const db = connectWriter(file, BUSY_TIMEOUT_MS);
  holder.exec("BEGIN IMMEDIATE");
  // Waiting as long as a commit does would exceed the test's timeout.
  preallocateWal(db, file, BUSY_TIMEOUT_MS);
  expect(walLength()).toBe(0);
  holder.exec("ROLLBACK");
  preallocateWal(db, file, BUSY_TIMEOUT_MS);
  expect(walLength()).toBeGreaterThan(1_000_000);
  // Commits wait as long as before.
  expect(db.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: BUSY_TIMEOUT_MS });
  holder.close();
  db.close();
}, 8_000);

if (mayMount()) {
  test("a disk that it would nearly fill is left alone", async () => {
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
