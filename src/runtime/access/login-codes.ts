/**
 * The one-time codes of login links. They live in memory, by their digests: a gateway that starts again knows none of them.
 *
 * L1. A code counts once, for ten minutes. Taking it is synchronous, so two who come at once cannot both have it.
 */
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { Clock } from "../ports/clock.ts";
import type { RandomBytes } from "../ports/randomness.ts";

const CODE_BYTES = 18;
const LIFE_MS = 600_000;
const MAX_CODES = 64;

export interface LoginCode {
  readonly code: string;
  readonly expiresAtMs: number;
}

export class LoginCodes {
  readonly #clock: Pick<Clock, "nowMs" | "monotonicMs">;
  readonly #random: RandomBytes;
  /** Until when, by digest; the oldest first. */
  readonly #untilMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "nowMs" | "monotonicMs">, random: RandomBytes) {
    this.#clock = clock;
    this.#random = random;
  }

  make(): LoginCode {
    const code = Buffer.from(this.#random(CODE_BYTES)).toString("base64url");
    this.#untilMs.set(hashBytes(code), this.#clock.monotonicMs() + LIFE_MS);
    const [oldest = ""] = this.#untilMs.keys();
    if (this.#untilMs.size > MAX_CODES) this.#untilMs.delete(oldest);
    return { code, expiresAtMs: this.#clock.nowMs() + LIFE_MS };
  }

  take(code: string): boolean {
    const digest = hashBytes(code);
    const untilMs = this.#untilMs.get(digest);
    this.#untilMs.delete(digest);
    return untilMs !== undefined && this.#clock.monotonicMs() < untilMs;
  }
}
