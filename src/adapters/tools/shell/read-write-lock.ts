/**
 * Who may work in the workspace at the same time.
 *
 * T1. A command that may write works alone among those that take turns; commands that only need files to stay what they
 *     are work together. A file that the sandbox mounts by its path could else be swapped for a link by a command that
 *     runs beside it, and the mount would follow.
 * T2. First come, first served, so that nobody waits for ever. Whoever is stopped while waiting leaves the queue.
 */
export type Turn = "alone" | "together";

interface Waiting {
  readonly turn: Turn;
  readonly begin: () => void;
}

export class ReadWriteLock {
  #together = 0;
  #isTaken = false;
  readonly #waiting: Waiting[] = [];

  /** Resolves when it is one's turn, with how to end it. Rejects with the signal's reason. */
  async take(turn: Turn, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const waiting = { turn, begin: () => leave(resolve) };
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        leave(() => reject(signal.reason));
        this.#next();
      };
      const leave = (settle: () => void): void => {
        signal.removeEventListener("abort", giveUp);
        settle();
      };
      signal.addEventListener("abort", giveUp);
      this.#waiting.push(waiting);
      this.#next();
    });
    return () => this.#end(turn);
  }

  #next(): void {
    for (let [first] = this.#waiting; first !== undefined && this.#isFree(first.turn); [first] = this.#waiting) {
      this.#waiting.shift();
      if (first.turn === "alone") this.#isTaken = true;
      else this.#together += 1;
      first.begin();
    }
  }

  #isFree(turn: Turn): boolean {
    return !this.#isTaken && (turn === "together" || this.#together === 0);
  }

  #end(turn: Turn): void {
    if (turn === "alone") this.#isTaken = false;
    else this.#together -= 1;
    this.#next();
  }
}
