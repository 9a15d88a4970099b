/**
 * How many requests a second are taken without a credential, from one network and in all, where answering costs more than
 * refusing: those that change something, such as a message of a webhook or a sign-in, and files. Requests with a credential
 * that counts never wait.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import { HttpError } from "./http-error.ts";
import { networkOf } from "./wrong-tokens.ts";

const OF_A_NETWORK = 300;
const IN_ALL = 1_000;
const SECOND_MS = 1_000;

export class PublicBudget {
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
      throw new HttpError("auth.rate_limited", "too many requests without a token come in: wait a second", {
        headers: ["Retry-After", "1"],
      });
    }
    this.#taken.set(network, taken);
    this.#inAll += 1;
  }
}
