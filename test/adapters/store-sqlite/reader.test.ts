/** Reading a home from another process. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSqliteReader } from "../../../src/adapters/store-sqlite/open-sqlite-reader.ts";
import { asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { newSession, runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

test("a reader sees commits of the gateway and refuses its own", async () => {
  const store = await temporary.open();
  const reader = await openSqliteReader(temporary.home);
  const { runId, writes } = runOfItsOwn();
  const journal = new SampleJournal(runId);
  await store.commit([...writes, journal.append(2)], "barrier");
  expect(reader.homeId).toBe(store.homeId);
  expect(await reader.readEntries(runId, 0, 10)).toEqual(journal.lines);
  expect(await reader.listRuns({ limit: 10, offset: 0 })).toEqual(await store.listRuns({ limit: 10, offset: 0 }));
  await expect(reader.commit([newSession(asSessionId("ses_no"))], "barrier")).rejects.toMatchObject({
    code: "store.read-only",
  });
  await reader.close();
  await expect(reader.findRun(runId)).rejects.toMatchObject({ code: "store.closed" });
});

test("a reader takes no lock: a gateway can start beside it", async () => {
  await (await temporary.open()).close();
  const reader = await openSqliteReader(temporary.home);
  const store = await temporary.open();
  const { runId, writes } = runOfItsOwn();
  await store.commit(writes, "barrier");
  expect((await reader.findRun(runId))?.status).toBe("queued");
  await reader.close();
});

test("reading does not create a missing home", async () => {
  await expect(openSqliteReader(temporary.home)).rejects.toMatchObject({ code: "store.unavailable" });
  const store = await temporary.open();
  expect((await store.listRuns({ limit: 1, offset: 0 })).total).toBe(0);
});

test("a negative or fractional page size is a defect, not a request for everything", async () => {
  const store = await temporary.open();
  await expect(async () => store.listRuns({ limit: -1, offset: 0 })).rejects.toThrow("not a page size or position: -1");
  await expect(async () => store.readEntries(runOfItsOwn().runId, 0, 0.5)).rejects.toThrow(
    "not a page size or position: 0.5",
  );
});
