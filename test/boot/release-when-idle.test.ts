/** After a burst the heap goes back to the system, once, when there is nothing to do. */
import { getHeapStatistics } from "node:v8";
import { expect, test } from "vitest";
import { releaseWhenIdle } from "../../src/boot/release-when-idle.ts";
import { releaseHeap } from "../../src/runtime/release-heap.ts";

const MIB = 2 ** 20;
const heap = (): number => getHeapStatistics().total_heap_size;

/** Keeps what it makes long enough for the heap to grow. */
function burst(): void {
  const kept: string[][] = [];
  for (let count = 0; count < 400; count += 1) kept.push(Array.from({ length: 10_000 }, (_, index) => `${index}`));
  if (kept.length === 0) throw new Error("nothing was made");
}

test("what a burst took of the heap is given back", () => {
  releaseHeap();
  const before = heap();
  burst();
  const after = heap();
  expect(after).toBeGreaterThan(before + 32 * MIB);
  releaseHeap();
  expect(heap()).toBeLessThan(before + 16 * MIB);
});

test("a busy process keeps it, and checks again", async () => {
  const checks: (() => void)[] = [];
  releaseWhenIdle({
    wake: (_delayMs, callback) => {
      checks.push(callback);
      return () => {};
    },
  });
  const check = async (): Promise<void> => {
    checks.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  burst();
  const busy = heap();
  await check();
  expect(heap()).toBeGreaterThan(busy - 16 * MIB);
  expect(checks).toHaveLength(1);
});

test("the function that collects garbage stays private", () => {
  releaseHeap();
  expect("gc" in globalThis).toBe(false);
});
