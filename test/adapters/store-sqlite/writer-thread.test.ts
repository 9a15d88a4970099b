/** How the writer thread ends, and what it refuses. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { WriterThread } from "../../../src/adapters/store-sqlite/writer-thread.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

function startWriter(code: string): WriterThread {
  const setup = { file: databaseFile(temporary.home), homeId: "home_1", busyTimeoutMs: 100, maxPages: null };
  return new WriterThread(setup, systemClock, new URL(`data:text/javascript,${encodeURIComponent(code)}`));
}

test("closing the store does not report it as unavailable", async () => {
  const store = await temporary.open();
  const reported: Error[] = [];
  store.onUnavailable((error) => reported.push(error));
  await store.commit(runOfItsOwn().writes, "barrier");
  await store.close();
  store.onUnavailable((error) => reported.push(error));
  expect(reported).toEqual([]);
});

test.each([
  ["exits", "process.exit(3)"],
  ["throws", "throw new Error('broken')"],
])("a thread that %s by itself is reported, refuses commits, and can still be closed", async (_, code) => {
  const writer = startWriter(code);
  const { promise: reported, resolve: report } = Promise.withResolvers<Error>();
  writer.onUnavailable(report);
  expect(await reported).toMatchObject({ code: "store.unavailable" });
  await expect(writer.commit([], "barrier")).rejects.toMatchObject({ code: "store.unavailable" });
  await writer.close();
  await writer.close();
  await expect(writer.commit([], "barrier")).rejects.toMatchObject({ code: "store.closed" });
});

test("a thread that exits while it is being closed leaves no commit pending", async () => {
  const writer = startWriter("setImmediate(() => process.exit(0))");
  const commit = writer.commit([], "lazy");
  const closed = writer.close();
  await expect(commit).rejects.toMatchObject({ code: "store.closed" });
  await closed;
});

test("a commit whose entries cannot be encoded is refused alone", async () => {
  const store = await temporary.open();
  const [broken, sound] = [runOfItsOwn(), runOfItsOwn()];
  await store.commit([...broken.writes, ...sound.writes], "barrier");
  const failing = Object.defineProperty({ ...new SampleJournal(broken.runId).appendLines(1) }, "lines", {
    get: () => {
      throw new Error("not encodable");
    },
  });
  const journal = new SampleJournal(sound.runId);
  const ended = await Promise.allSettled([
    store.commit([failing], "barrier"),
    store.commit([journal.append(1)], "barrier"),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  expect([await store.headOf(broken.runId), await store.headOf(sound.runId)]).toEqual([null, journal.head]);
  await store.close();
});
