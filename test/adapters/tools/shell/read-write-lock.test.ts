import fc from "fast-check";
import { expect, test } from "vitest";
import { ReadWriteLock, type Turn } from "../../../../src/adapters/tools/shell/read-write-lock.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("who works alone is alone; the others work together; everybody's turn comes, in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom<Turn>("alone", "together"), { maxLength: 20 }), async (wanted) => {
      const turns = new ReadWriteLock();
      const { signal } = new AbortController();
      const working: { readonly turn: Turn; readonly end: () => void }[] = [];
      const begun: number[] = [];
      wanted.forEach(async (turn, index) => {
        const end = await turns.take(turn, signal);
        begun.push(index);
        working.push({ turn, end });
      });
      while (begun.length < wanted.length || working.length > 0) {
        await settle();
        expect(working.length).toBeGreaterThan(0);
        if (working.some(({ turn }) => turn === "alone")) expect(working).toHaveLength(1);
        working.shift()?.end();
      }
      expect(begun).toEqual(wanted.map((_, index) => index));
    }),
    { numRuns: 50 },
  );
});

test("whoever is stopped while waiting holds up nobody", async () => {
  const turns = new ReadWriteLock();
  const { signal } = new AbortController();
  const stopping = new AbortController();
  const endFirst = await turns.take("together", signal);
  const stopped = turns.take("alone", stopping.signal);
  const second = turns.take("together", signal);
  stopping.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
  (await second)();
  endFirst();
  (await turns.take("alone", signal))();
  await expect(turns.take("alone", stopping.signal)).rejects.toThrow("stopped");
});
