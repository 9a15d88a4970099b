/**
 * A read-write lock for the workspace, first come, first served. A command that may write holds it exclusively;
 * commands that need their files unchanged share it. Otherwise a concurrent command could swap a file that the sandbox
 * mounts by path for a link.
 */
export type LockMode = "exclusive" | "shared";

interface Waiting {
  readonly mode: LockMode;
  readonly grant: () => void;
}

export class ReadWriteLock {
  #readers = 0;
  #hasWriter = false;
  readonly #waiting: Waiting[] = [];

  async acquire(mode: LockMode, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const settle = (done: () => void): void => {
        signal.removeEventListener("abort", abort);
        done();
      };
      const waiting = { mode, grant: () => settle(resolve) };
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        settle(() => reject(signal.reason));
        this.#grantNext();
      };
      signal.addEventListener("abort", abort);
      this.#waiting.push(waiting);
      this.#grantNext();
    });
    return () => this.#release(mode);
  }

  #grantNext(): void {
    for (let [first] = this.#waiting; first !== undefined && this.#isFree(first.mode); [first] = this.#waiting) {
      this.#waiting.shift();
      if (first.mode === "exclusive") this.#hasWriter = true;
      else this.#readers += 1;
      first.grant();
    }
  }

  #isFree(mode: LockMode): boolean {
    return !this.#hasWriter && (mode === "shared" || this.#readers === 0);
  }

  #release(mode: LockMode): void {
    if (mode === "exclusive") this.#hasWriter = false;
    else this.#readers -= 1;
    this.#grantNext();
  }
}
