import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openLanes } from "../../../src/runtime/run/lanes.ts";

/** Runs that a test ends one by one. */
function stage(workers: number) {
  const begun: string[] = [];
  const atWork = new Map<string, () => void>();
  const lanes = openLanes<string>(
    () => workers,
    (id) => {
      begun.push(id);
      const { promise, resolve } = Promise.withResolvers<void>();
      atWork.set(id, resolve);
      return promise;
    },
  );
  const finish = async (id: string): Promise<void> => {
    atWork.get(id)?.();
    atWork.delete(id);
    // As many turns of the microtask queue as a settled promise takes to begin the next run.
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { lanes, begun, atWork, finish };
}

const laneOf = (id: string): string => id.split("-")[0] ?? "";

describe("lanes", () => {
  test("one at a time and in order within a lane, side by side across lanes, never more than the workers", async () => {
    const puts = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        puts,
        fc.integer({ min: 1, max: 3 }),
        fc.infiniteStream(fc.nat(100)),
        async (order, workers, picks) => {
          const { lanes, begun, atWork, finish } = stage(workers);
          const ids = order.map((lane, index) => `${lane}-${index}`);
          for (const id of ids) lanes.put(laneOf(id), id, "last");
          while (atWork.size > 0) {
            const working = [...atWork.keys()];
            expect(working.length).toBeLessThanOrEqual(workers);
            expect(new Set(working.map(laneOf)).size).toBe(working.length);
            const lanesLeft = new Set(ids.filter((id) => !begun.includes(id) || atWork.has(id)).map(laneOf)).size;
            expect(working.length).toBe(Math.min(workers, lanesLeft));
            const pick = picks.next().value ?? 0;
            await finish(working[pick % working.length] ?? "");
          }
          for (const lane of ["a", "b", "c", "d"]) {
            expect(begun.filter((id) => laneOf(id) === lane)).toEqual(ids.filter((id) => laneOf(id) === lane));
          }
        },
      ),
    );
  });

  test("a parked run comes before runs that have not started", async () => {
    const { lanes, begun, finish } = stage(1);
    for (const id of ["a-1", "a-2", "a-3"]) lanes.put("a", id, "last");
    lanes.put("a", "a-0", "first");
    await finish("a-1");
    await finish("a-0");
    expect(begun).toEqual(["a-1", "a-0", "a-2"]);
  });

  test("a run is in its lane once, and a removed run does not start", async () => {
    const { lanes, begun, finish } = stage(1);
    lanes.put("a", "a-1", "last");
    lanes.put("a", "a-2", "last");
    lanes.put("a", "a-2", "first");
    lanes.put("a", "a-3", "last");
    expect(lanes.waiting).toBe(2);
    expect(lanes.remove("a", "a-3")).toBe(true);
    expect(lanes.remove("a", "a-3")).toBe(false);
    expect(lanes.remove("a", "a-1")).toBe(false);
    await finish("a-1");
    await finish("a-2");
    expect(begun).toEqual(["a-1", "a-2"]);
    expect(lanes.waiting).toBe(0);
  });

  test("a run started by startNow waits for neither worker nor lane, and takes the turn of neither", async () => {
    const { lanes, begun, finish } = stage(1);
    for (const id of ["a-1", "a-2", "a-3"]) lanes.put("a", id, "last");
    expect([lanes.startNow("a", "a-2"), lanes.startNow("a", "a-2"), lanes.startNow("a", "a-1")]).toEqual([
      true,
      false,
      false,
    ]);
    expect([begun, lanes.waiting]).toEqual([["a-1", "a-2"], 1]);
    await finish("a-2");
    expect(begun).toEqual(["a-1", "a-2"]);
    await finish("a-1");
    expect(begun).toEqual(["a-1", "a-2", "a-3"]);
  });

  test("closed lanes start nothing", async () => {
    const { lanes, begun, finish } = stage(1);
    lanes.put("a", "a-1", "last");
    lanes.put("b", "b-1", "last");
    lanes.close();
    expect(lanes.startNow("b", "b-1")).toBe(false);
    await finish("a-1");
    lanes.put("c", "c-1", "last");
    expect(begun).toEqual(["a-1"]);
  });
});
