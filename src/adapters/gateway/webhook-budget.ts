/**
 * How many messages of webhooks a second are taken, from one network and in all: each is a large body to read and to verify.
 *
 * Nothing else is counted, also where it needs no credential: on this machine all programs are one network, so whatever a
 * count keeps strangers from, one program could keep the owner from: the page to sign in, the sign-in itself, the proof of
 * identity. Those cost no more than to refuse them.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import { HttpError } from "./http-error.ts";
import { networkOf } from "./wrong-tokens.ts";

const OF_A_NETWORK = 300;
const IN_ALL = 1_000;
const SECOND_MS = 1_000;

export class WebhookBudget {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #taken = new Map<string, number>();
  #sinceMs = Number.NEGATIVE_INFINITY;
  #inAll = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Throws when it is spent. */
  take(address: string | undefined): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#sinceMs >= SECOND_MS) {
      this.#sinceMs = nowMs;
      this.#inAll = 0;
      this.#taken.clear();
    }
    const network = networkOf(address ?? "");
    const taken = (this.#taken.get(network) ?? 0) + 1;
    if (taken > OF_A_NETWORK || this.#inAll >= IN_ALL) {
      throw new HttpError("auth.rate_limited", "too many messages of webhooks come in: wait a second", {
        headers: ["Retry-After", "1"],
      });
    }
    this.#taken.set(network, taken);
    this.#inAll += 1;
  }
}
