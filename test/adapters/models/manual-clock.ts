/** A clock that stands still until a test moves it. */
import { systemClock } from "../../../src/boot/system-clock.ts";
import type { Clock } from "../../../src/runtime/ports/clock.ts";

export interface ManualClock extends Clock {
  /** Moves on, and wakes whoever is due. */
  pass(ms: number): void;
  /** Resolves when somebody asks to be woken. */
  readonly armed: Promise<void>;
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsedMs = 0;
  const { promise: armed, resolve: arm } = Promise.withResolvers<void>();
  const pending = new Map<() => void, number>();
  return {
    armed,
    nowMs: () => startMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    wake(delayMs, callback) {
      pending.set(callback, elapsedMs + delayMs);
      arm();
      return () => pending.delete(callback);
    },
    afterThisTurn: systemClock.afterThisTurn,
    pass(ms) {
      elapsedMs += ms;
      for (const [callback, dueMs] of pending) {
        if (dueMs > elapsedMs) continue;
        pending.delete(callback);
        callback();
      }
    },
  };
}
