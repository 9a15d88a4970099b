import fc from "fast-check";
import { expect, test } from "vitest";
import { type LockMode, ReadWriteLock } from "../../../../src/adapters/tools/shell/read-write-lock.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("a writer holds the lock alone, readers share it, and requests are granted in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom<LockMode>("exclusive", "shared"), { maxLength: 20 }), async (wanted) => {
      const lock = new ReadWriteLock();
      const { signal } = new AbortController();
      const working: { readonly mode: LockMode; readonly end: () => void }[] = [];
      const begun: number[] = [];
      wanted.forEach(async (mode, index) => {
        const end = await lock.acquire(mode, signal);
        begun.push(index);
        working.push({ mode, end });
      });
      while (begun.length < wanted.length || working.length > 0) {
        await settle();
        expect(working.length).toBeGreaterThan(0);
        if (working.some(({ mode }) => mode === "exclusive")) expect(working).toHaveLength(1);
        working.shift()?.end();
      }
      expect(begun).toEqual(wanted.map((_, index) => index));
    }),
    { numRuns: 50 },
  );
});

test("an aborted waiter leaves the queue and blocks no other", async () => {
  const lock = new ReadWriteLock();
  const { signal } = new AbortController();
  const stopping = new AbortController();
  const endFirst = await lock.acquire("shared", signal);
  const stopped = lock.acquire("exclusive", stopping.signal);
  const second = lock.acquire("shared", signal);
  stopping.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
  (await second)();
  endFirst();
  (await lock.acquire("exclusive", signal))();
  await expect(lock.acquire("exclusive", stopping.signal)).rejects.toThrow("stopped");
});
