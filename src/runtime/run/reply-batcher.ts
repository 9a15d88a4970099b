/**
 * ReplyBatcher releases model replies that arrive in one turn of the event loop together, so that concurrent runs go through
 * each stage of a step (read, plan, run, ask) side by side while its code is in the processor's caches. Without it a step
 * of 64 concurrent runs takes half as long again (docs/performance.md). A single call is not delayed.
 */
import type { Clock } from "../ports/clock.ts";

export class ReplyBatcher {
  readonly #clock: Pick<Clock, "afterThisTurn">;
  #inFlight = 0;
  #endOfTurn: Promise<void> | null = null;

  constructor(clock: Pick<Clock, "afterThisTurn">) {
    this.#clock = clock;
  }

  async batch<Reply>(call: () => Promise<Reply>): Promise<Reply> {
    this.#inFlight += 1;
    const reply = await call().finally(() => {
      this.#inFlight -= 1;
    });
    if (this.#inFlight > 0 || this.#endOfTurn !== null) await this.#nextEndOfTurn();
    return reply;
  }

  #nextEndOfTurn(): Promise<void> {
    this.#endOfTurn ??= new Promise((resolve) => {
      this.#clock.afterThisTurn(() => {
        this.#endOfTurn = null;
        resolve();
      });
    });
    return this.#endOfTurn;
  }
}
