/** Waits so long, or until the signal aborts. */
import type { Clock } from "../ports/clock.ts";

export function pause(clock: Pick<Clock, "wake">, delayMs: number, signal: AbortSignal): Promise<void> {
  // One that has aborted already tells nobody again.
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = (): void => {
    callOff();
    resolve();
  };
  const callOff = clock.wake(delayMs, () => {
    signal.removeEventListener("abort", stop);
    resolve();
  });
  signal.addEventListener("abort", stop, { once: true });
  return promise;
}
