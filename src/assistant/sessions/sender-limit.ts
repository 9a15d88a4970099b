/**
 * How many messages a sender may send (O-5.7): `perMinute` at once, and one more whenever a minute's share has passed.
 * Senders who have been silent for a minute are forgotten, so the table stays as small as the traffic of a minute.
 */
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";

const MINUTE_MS = 60_000;

export class SenderLimit {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #perMinute: () => number;
  /** Per sender, when its whole allowance is free again. */
  readonly #busyUntil = new Map<string, number>();
  #sweptAt = 0;

  constructor(clock: Pick<Clock, "monotonicMs">, perMinute: () => number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Seconds until the next message is taken; 0: this one is. */
  take(sender: string): number {
    const nowMs = this.#clock.monotonicMs();
    this.#sweep(nowMs);
    const busyUntil = Math.max(this.#busyUntil.get(sender) ?? 0, nowMs) + MINUTE_MS / this.#perMinute();
    const waitMs = busyUntil - nowMs - MINUTE_MS;
    // A millisecond's tolerance: shares of a minute are seldom whole numbers.
    if (waitMs > 1) return Math.ceil(waitMs / 1000);
    this.#busyUntil.set(sender, busyUntil);
    return 0;
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptAt < MINUTE_MS) return;
    this.#sweptAt = nowMs;
    for (const [sender, busyUntil] of this.#busyUntil) if (busyUntil <= nowMs) this.#busyUntil.delete(sender);
  }
}

export function tooFast(retryAfterSeconds: number): Refusal {
  const message = `chat sender is rate limited; retry in ${retryAfterSeconds}s`;
  return { ...refuse("chat.rate_limited", message), retryAfterSeconds };
}
