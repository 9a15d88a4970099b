/** Time, as the runtime needs it: for people, for deadlines, and to be woken. One file in boot implements it. */
export interface Clock {
  /** Milliseconds since 1970, for people and for what must outlive the process; it may jump. */
  nowMs(): number;
  /** Milliseconds that only ever grow, within one process. */
  monotonicMs(): number;
  /** Wakes once, not before `delayMs` have passed; returns how to call it off. A pending call keeps no process alive. */
  wake(delayMs: number, callback: () => void): () => void;
}

let lastMs = Number.NaN;
let lastTimestamp = "";

/** Many things happen in one millisecond, and spelling it out costs as much as hashing an entry. */
export function timestampOf(ms: number): string {
  if (ms !== lastMs) {
    lastTimestamp = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastTimestamp;
}
