/** Backups while the gateway runs, and restoring them. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { restoreBackup } from "../../../src/adapters/store-sqlite/backup.ts";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { toLedgerLine, verifyLedger } from "../../../src/kernel/journal/ledger.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Store } from "../../../src/runtime/ports/store.ts";
import { verifies } from "../../requirements.ts";
import { created, runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

const RESTORE = { id: "restore_1", ts: "2026-01-02T03:04:05.000Z" };

let temporary: TemporaryHome;
let file: string;
beforeEach(() => {
  temporary = temporaryHome();
  file = join(temporary.home, "..", "backup.db");
});
afterEach(() => temporary.dispose());

async function addRun(store: Store): Promise<RunId> {
  const { runId, writes } = runOfItsOwn();
  await store.commit([...writes, new SampleJournal(runId).append(3), created(runId)], "barrier");
  return runId;
}

verifies(
  "X-26/backup",
  "a backup is a consistent snapshot of everything committed before it, while commits continue",
  async () => {
    const store = await temporary.open();
    const before = [await addRun(store), await addRun(store)];
    let isDone = false;
    const working = (async () => {
      while (!isDone) await addRun(store);
    })();
    await store.backup(file);
    isDone = true;
    await working;
    expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
    await store.close();

    expect(restoreBackup(file, temporary.home, RESTORE)).not.toBeNull();
    const restored = await temporary.open();
    expect(restored.homeId).toBe(store.homeId);
    const { runs } = await restored.listRuns({ limit: 100_000, offset: 0 });
    expect(runs.map(({ runId }) => runId)).toEqual(expect.arrayContaining(before));
    const ledger = await restored.readLedger(0, 100_000);
    expect(ledger.at(-1)).toMatchObject({ kind: "home.restored", data: { restoreId: "restore_1" } });
    expect(ledger).toHaveLength(runs.length + 1);
    const lines = ledger.map((entry) => `${toLedgerLine(entry)}\n`).join("");
    expect(verifyLedger(lines, { homeId: restored.homeId })).toMatchObject({ ok: true });
    for (const { runId } of runs) expect((await restored.headOf(runId))?.seq).toBe(3);
  },
);

test("restoring keeps the replaced database", async () => {
  const store = await temporary.open();
  const kept = await addRun(store);
  await store.backup(file);
  const lost = await addRun(store);
  await store.close();
  const replaced = restoreBackup(file, temporary.home, RESTORE);
  const restored = await temporary.open();
  expect(await restored.findRun(kept)).not.toBeNull();
  expect(await restored.findRun(lost)).toBeNull();
  await restored.close();

  const again = restoreBackup(replaced ?? "", temporary.home, RESTORE);
  expect(again).not.toBe(replaced);
  expect(await (await temporary.open()).findRun(lost)).not.toBeNull();
  expect((statSync(replaced ?? "").mode & 0o777).toString(8)).toBe("600");
});

verifies("X-26/backup", "a backup restores a missing or damaged home", async () => {
  const store = await temporary.open();
  const runId = await addRun(store);
  await store.backup(file);
  await store.close();
  writeFileSync(databaseFile(temporary.home), "rubbish".repeat(3000));
  await expect(temporary.open()).rejects.toMatchObject({ code: "store.corrupt" });
  const replaced = restoreBackup(file, temporary.home, RESTORE);
  expect(readFileSync(replaced ?? "", "utf8")).toContain("rubbish");
  expect(await (await temporary.open()).findRun(runId)).not.toBeNull();

  const elsewhere = join(temporary.home, "..", "elsewhere");
  expect(restoreBackup(file, elsewhere, RESTORE)).toBeNull();
  const moved = await temporary.open({ home: elsewhere });
  expect(await moved.findRun(runId)).not.toBeNull();
});

test("nothing is restored while a gateway runs, or from a missing or damaged backup", async () => {
  const store = await temporary.open();
  const runId = await addRun(store);
  await store.backup(file);
  expect(() => restoreBackup(file, temporary.home, RESTORE)).toThrow(expect.objectContaining({ code: "store.in-use" }));
  await store.close();
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xff, 8192, 12_288));
  expect(() => restoreBackup(file, temporary.home, RESTORE)).toThrow(
    expect.objectContaining({ code: "store.corrupt" }),
  );
  const none = join(temporary.home, "none.db");
  expect(() => restoreBackup(none, temporary.home, RESTORE)).toThrow(
    expect.objectContaining({ code: "store.unavailable" }),
  );
  expect(readdirSync(temporary.home).filter((name) => /restoring|replaced/.test(name))).toEqual([]);
  expect(await (await temporary.open()).findRun(runId)).not.toBeNull();
});

test("a backup that cannot be written leaves nothing behind", async () => {
  const store = await temporary.open();
  const nowhere = join(temporary.home, "no-such-directory", "backup.db");
  await expect(store.backup(nowhere)).rejects.toMatchObject({ code: "store.unavailable" });
  expect(existsSync(`${nowhere}.partial`)).toBe(false);
});
