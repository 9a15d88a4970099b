/** The writer thread's end: asked for, or not. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { WriterThread } from "../../../src/adapters/store-sqlite/writer-thread.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { runOfItsOwn } from "../../runtime/store-samples.ts";
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

test("a store that is closed was not lost: nobody is told that nothing can be written", async () => {
  const store = await temporary.open();
  const told: Error[] = [];
  store.onUnavailable((error) => told.push(error));
  await store.commit(runOfItsOwn().writes, "barrier");
  await store.close();
  store.onUnavailable((error) => told.push(error));
  expect(told).toEqual([]);
});

test.each([
  ["exits", "process.exit(3)"],
  ["throws", "throw new Error('broken')"],
])("a thread that %s by itself is told of, refuses, and can be closed all the same", async (_, code) => {
  const writer = startWriter(code);
  const { promise: told, resolve: tell } = Promise.withResolvers<Error>();
  writer.onUnavailable(tell);
  expect(await told).toMatchObject({ code: "store.unavailable" });
  await expect(writer.commit([], "barrier")).rejects.toMatchObject({ code: "store.unavailable" });
  await writer.close();
  await writer.close();
  await expect(writer.commit([], "barrier")).rejects.toMatchObject({ code: "store.closed" });
});

test("a thread that goes while it is being closed leaves nobody waiting", async () => {
  const writer = startWriter("setImmediate(() => process.exit(0))");
  const commit = writer.commit([], "lazy");
  const closed = writer.close();
  await expect(commit).rejects.toMatchObject({ code: "store.closed" });
  await closed;
});
