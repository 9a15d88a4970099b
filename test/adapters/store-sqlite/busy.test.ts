/** Another process holds the database for a while. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { startChild } from "./child-process.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

test("commits wait, reads do not, and nothing is lost", async () => {
  const store = await temporary.open();
  const { runId, writes } = runOfItsOwn();
  await store.commit(writes, "barrier");
  const journal = new SampleJournal(runId);
  const holder = startChild("./hold-database.ts", temporary.home);
  expect(await holder.nextLine()).toBe("held");

  let isSettled = false;
  const waiting = [1, 2, 3].map(() => store.commit([journal.append(1)], "barrier"));
  const all = Promise.all(waiting).then(() => {
    isSettled = true;
  });
  expect((await store.findRun(runId))?.status).toBe("queued");
  expect((await store.listRuns({ limit: 1, offset: 0 })).total).toBe(1);
  expect(isSettled).toBe(false);
  holder.say("let go");
  await all;
  expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines);
});

test("a commit that waited too long is refused as busy and leaves nothing; later commits work", async () => {
  const store = await temporary.open({ busyTimeoutMs: 30 });
  const { runId, writes } = runOfItsOwn();
  await store.commit(writes, "barrier");
  const holder = startChild("./hold-database.ts", temporary.home);
  expect(await holder.nextLine()).toBe("held");
  const journal = new SampleJournal(runId);
  const append = journal.append(2);
  await expect(store.commit([append], "barrier")).rejects.toMatchObject({ code: "store.busy" });
  expect(await store.headOf(runId)).toBeNull();
  await holder.kill("SIGKILL");
  await store.commit([append], "barrier");
  expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines);
});
