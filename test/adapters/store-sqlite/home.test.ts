/** Opening a home: the lock, and which homes are refused. */
import {
  chmodSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkIntegrity } from "../../../src/adapters/store-sqlite/check-database.ts";
import { databaseFile, lockFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { takeHomeLock } from "../../../src/adapters/store-sqlite/home-lock.ts";
import { StoreError, type StoreErrorCode } from "../../../src/runtime/ports/store.ts";
import { verifies } from "../../requirements.ts";
import { runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { startChild } from "./child-process.ts";
import { mayMount, mountDisk } from "./mounted-disk.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** A closed home with a run in it: made once, copied for each test that damages it. */
const template = temporaryHome();
beforeAll(async () => {
  const store = await template.open();
  const { runId, writes } = runOfItsOwn();
  const journal = new SampleJournal(runId);
  await store.commit(writes, "barrier");
  await Promise.all(Array.from({ length: 400 }, () => store.commit([journal.append(4)], "barrier")));
  await store.close();
});
afterAll(() => template.dispose());

function usedHome(): void {
  cpSync(template.home, temporary.home, { recursive: true });
}

async function expectRefusal(code: StoreErrorCode): Promise<string> {
  const error = await temporary.open().then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code });
  const { message } = error as StoreError;
  expect(message).not.toContain("\n");
  return message;
}

describe("a new home", () => {
  test("is readable by its owner alone", async () => {
    const store = await temporary.open();
    await store.commit([...runOfItsOwn().writes], "barrier");
    const file = databaseFile(temporary.home);
    expect(modeOf(temporary.home)).toBe("700");
    for (const path of [file, `${file}-wal`, `${file}-shm`, lockFile(temporary.home)]) {
      expect([path, modeOf(path)]).toEqual([path, "600"]);
    }
  });

  test("keeps its id", async () => {
    const first = await temporary.open();
    await first.close();
    const second = await temporary.open();
    expect(second.homeId).toBe(first.homeId);
    expect(second.homeId).toMatch(/^home_[0-9a-f]{24}$/);
  });

  test("left half created by a kill is created again", async () => {
    await mkdir(temporary.home);
    writeFileSync(databaseFile(temporary.home), "");
    const store = await temporary.open();
    expect((await store.listRuns({ limit: 1, offset: 0 })).total).toBe(0);
  });

  test("leaves no WAL behind when it is closed", () => {
    usedHome();
    expect(existsSync(`${databaseFile(temporary.home)}-wal`)).toBe(false);
    expect(checkIntegrity(temporary.home)).toEqual([]);
  });
});

describe("the home lock", () => {
  test("refuses a second store of the same process, and lets go when the first is closed", async () => {
    const first = await temporary.open();
    await expectRefusal("store.in-use");
    await first.commit([...runOfItsOwn().writes], "barrier");
    await expectRefusal("store.in-use");
    await first.close();
    const second = await temporary.open();
    expect((await second.listRuns({ limit: 1, offset: 0 })).total).toBe(1);
  });

  test("refuses another process", async () => {
    await temporary.open();
    const child = startChild("./hold-home.ts", temporary.home);
    expect(await child.nextLine()).toBe("store.in-use");
    await child.kill("SIGKILL");
  });

  test("is taken on a garbled file, which holds no data, and still refuses others", async () => {
    await mkdir(temporary.home);
    writeFileSync(lockFile(temporary.home), "no database at all ".repeat(400));
    await temporary.open();
    await expectRefusal("store.in-use");
  });

  test("on a file that is garbled while locked stays with its holder", async () => {
    const child = startChild("./hold-home.ts", temporary.home);
    expect(await child.nextLine()).toBe("open");
    writeFileSync(lockFile(temporary.home), "no database at all ".repeat(400));
    await expectRefusal("store.in-use");
    await child.kill("SIGKILL");
    await temporary.open();
  });

  test("that cannot be taken names the lock file, not the database", async () => {
    await mkdir(lockFile(temporary.home), { recursive: true });
    expect(await expectRefusal("store.unavailable")).toMatch(/lock\.db: .* cannot be opened\./);
  });

  test("reports when another file has taken the locked file's path", async () => {
    await mkdir(temporary.home);
    const lock = takeHomeLock(temporary.home);
    expect(lock.isInPlace()).toBe(true);
    const file = lockFile(temporary.home);
    renameSync(file, `${file}.aside`);
    expect(lock.isInPlace()).toBe(false);
    const other = takeHomeLock(temporary.home);
    expect([lock.isInPlace(), other.isInPlace()]).toEqual([false, true]);
    lock.release();
    other.release();
  });

  test("is freed by kill -9", async () => {
    const child = startChild("./hold-home.ts", temporary.home);
    expect(await child.nextLine()).toBe("open");
    expect(await expectRefusal("store.in-use")).toContain(temporary.home);
    await child.kill("SIGKILL");
    const store = await temporary.open();
    await store.commit([...runOfItsOwn().writes], "barrier");
  });
});

describe("an unusable home is refused and left unchanged", () => {
  verifies("X-26/schema", "written by a newer surety", async () => {
    usedHome();
    const db = new DatabaseSync(databaseFile(temporary.home));
    db.exec("PRAGMA user_version = 99");
    db.close();
    const before = readFileSync(databaseFile(temporary.home));
    expect(await expectRefusal("store.newer-schema")).toContain("Upgrade");
    expect(readFileSync(databaseFile(temporary.home)).equals(before)).toBe(true);
  });

  test("a database of another program", async () => {
    await mkdir(temporary.home);
    const db = new DatabaseSync(databaseFile(temporary.home));
    db.exec("CREATE TABLE theirs (x)");
    db.close();
    const before = readFileSync(databaseFile(temporary.home));
    await expectRefusal("store.corrupt");
    expect(readFileSync(databaseFile(temporary.home)).equals(before)).toBe(true);
  });

  test.each([
    [
      "no database at all",
      (file: string) => writeFileSync(file, "not a database, but long enough to be read as one".repeat(200)),
    ],
    ["cut short", (file: string) => truncateSync(file, statSync(file).size - 8192)],
    ["overwritten behind its first page", (file: string) => writeFileSync(file, damaged(readFileSync(file), 4096))],
    ["overwritten in its first page", (file: string) => writeFileSync(file, damaged(readFileSync(file), 100))],
  ])("damaged: %s", async (_, damage) => {
    usedHome();
    damage(databaseFile(temporary.home));
    const before = readFileSync(databaseFile(temporary.home));
    expect(await expectRefusal("store.corrupt")).toContain("Restore a backup");
    expect(readFileSync(databaseFile(temporary.home)).equals(before)).toBe(true);
  });

  test("with tables of another schema: found when they are read or written", async () => {
    usedHome();
    const file = databaseFile(temporary.home);
    // Each byte as it is: the statement that made the table stands in the file more than once.
    const text = readFileSync(file, "latin1").replaceAll("head_hash BLOB", "head_hasi BLOB");
    writeFileSync(file, text, "latin1");
    const store = await temporary.open();
    await expect(store.listRuns({ limit: 1, offset: 0 })).rejects.toMatchObject({ code: "store.corrupt" });
  });

  test("damaged where only a full check finds it, after an unclean shutdown", async () => {
    usedHome();
    const file = databaseFile(temporary.home);
    const bytes = readFileSync(file);
    // A page in the middle: neither the header nor the newest rows.
    bytes.fill(0xff, Math.floor(bytes.length / 8192) * 4096, Math.floor(bytes.length / 8192) * 4096 + 4096);
    writeFileSync(file, bytes);
    writeFileSync(`${file}-wal`, Buffer.alloc(64));
    await expectRefusal("store.corrupt");
    expect(checkIntegrity(temporary.home)).not.toEqual([]);
  });

  test("a file where the directory should be", async () => {
    writeFileSync(temporary.home, "in the way");
    await expectRefusal("store.read-only");
    const beneath = join(temporary.home, "deeper");
    await expect(temporary.open({ home: beneath })).rejects.toMatchObject({ code: "store.read-only" });
    expect(readFileSync(temporary.home, "utf8")).toBe("in the way");
  });

  // Root, whom no mode stops, may mount what is read-only even for root.
  test.each(mayMount() ? [["on a read-only disk"]] : [["without permission to write"]])("%s", async (obstacle) => {
    const disk = obstacle === "on a read-only disk" ? mountDisk(temporary.home, "mode=700") : null;
    try {
      usedHome();
      if (disk === null) chmodSync(temporary.home, 0o500);
      else disk.change("ro");
      await expectRefusal("store.read-only");
    } finally {
      if (disk === null) chmodSync(temporary.home, 0o700);
      disk?.remove();
    }
  });
});

function damaged(bytes: Buffer, from: number): Buffer {
  return bytes.fill(0xff, from);
}
