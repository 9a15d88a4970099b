/** A gateway is idle most of the day: what a burst of runs took of the heap goes back to the system after it. */
import { performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Clock } from "../runtime/ports/clock.ts";
import { releaseHeap } from "../runtime/release-heap.ts";

const CHECK_MS = 5_000;
/** Of the time since the last check. */
const IDLE_UTILIZATION = 0.02;
const WORTHWHILE_BYTES = 8 * 1024 * 1024;

/** Checks for as long as the process lives, and does not keep it alive. */
export function releaseWhenIdle(clock: Pick<Clock, "wake">): void {
  let before = performance.eventLoopUtilization();
  let settledBytes = 0;
  const check = (): void => {
    const { utilization } = performance.eventLoopUtilization(before);
    before = performance.eventLoopUtilization();
    const hasGrown = getHeapStatistics().total_heap_size > settledBytes + WORTHWHILE_BYTES;
    if (utilization <= IDLE_UTILIZATION && hasGrown) {
      releaseHeap();
      settledBytes = getHeapStatistics().total_heap_size;
    }
    clock.wake(CHECK_MS, check);
  };
  clock.wake(CHECK_MS, check);
}
