/**
 * The one reader of the machine's clocks.
 *
 * K1. `wake` never calls back early: Node's timers may fire a fraction of a millisecond too soon.
 * K2. Any delay is kept, however long: Node's timers fire at once beyond 2^31 ms.
 * K3. A pending wake does not keep the process alive.
 */
import { Defect } from "../kernel/vocabulary/defect.ts";
import type { Clock } from "../runtime/ports/clock.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  wake(delayMs, callback) {
    if (Number.isNaN(delayMs)) throw new Defect("clock: a delay that is not a number");
    const dueMs = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const restMs = Math.max(0, Math.ceil(dueMs - performance.now()));
      timer = setTimeout(fire, Math.min(restMs, LONGEST_TIMER_MS)).unref();
    };
    const fire = (): void => {
      if (performance.now() < dueMs) arm();
      else callback();
    };
    arm();
    return () => clearTimeout(timer);
  },
  afterThisTurn: (callback) => {
    setImmediate(callback);
  },
};
