/** Time, as the runtime needs it: for people, for deadlines, and to be woken. One file in boot implements it. */
export interface Clock {
  /** Milliseconds since 1970, for people and for what must outlive the process; it may jump. */
  nowMs(): number;
  /** Milliseconds that only ever grow, within one process. */
  monotonicMs(): number;
  /** Wakes once, not before `delayMs` have passed; returns how to call it off. A pending call keeps no process alive. */
  wake(delayMs: number, callback: () => void): () => void;
  /** After all that is going on now, and before anything new that comes from outside. */
  afterThisTurn(callback: () => void): void;
}

let secondMs = Number.NaN;
let secondText = "";

/** Many things happen in one second, and spelling it out costs as much as hashing an entry. */
export function timestampOf(ms: number): string {
  const sinceMs = ms - secondMs;
  if (!(sinceMs >= 0 && sinceMs < 1000 && Number.isInteger(ms))) return spelled(ms);
  return `${secondText}${sinceMs < 10 ? "00" : sinceMs < 100 ? "0" : ""}${sinceMs}Z`;
}

function spelled(ms: number): string {
  const text = new Date(ms).toISOString();
  // Of a fraction, the text leaves out what is not whole: before 1970 that may lead into the next second.
  secondMs = Math.floor(Math.trunc(ms) / 1000) * 1000;
  secondText = text.slice(0, -"000Z".length);
  return text;
}
