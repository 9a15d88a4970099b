/** Wall-clock time, monotonic time and timers. One file in boot implements it. */
export interface Clock {
  /** Milliseconds since 1970, for timestamps and deadlines that outlive the process; it may jump. */
  nowMs(): number;
  /** Milliseconds that never go back, within one process. */
  monotonicMs(): number;
  /** Calls back once, not before `delayMs` have passed; returns its cancel function. A pending call keeps no process alive. */
  wake(delayMs: number, callback: () => void): () => void;
  /** After the current turn of the event loop, before new input is read (`setImmediate`). */
  afterThisTurn(callback: () => void): void;
}

/** Waits for the delay, or until the signal aborts. */
export function pause(clock: Pick<Clock, "wake">, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = (): void => {
    cancelWake();
    resolve();
  };
  const cancelWake = clock.wake(delayMs, () => {
    signal.removeEventListener("abort", stop);
    resolve();
  });
  signal.addEventListener("abort", stop, { once: true });
  return promise;
}

let secondMs = Number.NaN;
let secondText = "";

/** Caches the second: formatting a date costs as much as hashing an entry. */
export function timestampOf(ms: number): string {
  const sinceMs = ms - secondMs;
  if (!(sinceMs >= 0 && sinceMs < 1000 && Number.isInteger(ms))) return spelled(ms);
  return `${secondText}${sinceMs < 10 ? "00" : sinceMs < 100 ? "0" : ""}${sinceMs}Z`;
}

function spelled(ms: number): string {
  const text = new Date(ms).toISOString();
  // `toISOString` truncates fractions toward zero, so before 1970 the text may belong to the next second.
  secondMs = Math.floor(Math.trunc(ms) / 1000) * 1000;
  secondText = text.slice(0, -"000Z".length);
  return text;
}
