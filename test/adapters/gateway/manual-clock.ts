/** A clock that stands still until it is moved. */
import { systemClock } from "../../../src/boot/system-clock.ts";
import type { Clock } from "../../../src/runtime/ports/clock.ts";

export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #wakes = new Set<{ readonly dueMs: number; readonly callback: () => void }>();

  nowMs(): number {
    return 1_765_000_000_000 + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wake(delayMs: number, callback: () => void): () => void {
    const wake = { dueMs: this.#nowMs + delayMs, callback };
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }

  afterThisTurn(callback: () => void): void {
    systemClock.afterThisTurn(callback);
  }

  get pending(): number {
    return this.#wakes.size;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const wake of [...this.#wakes]) {
      if (wake.dueMs > this.#nowMs || !this.#wakes.delete(wake)) continue;
      wake.callback();
    }
  }
}
