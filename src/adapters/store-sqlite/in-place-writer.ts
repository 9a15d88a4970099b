/**
 * Commits on the main thread, where that is over sooner than another thread has woken: when a single run is at work, and
 * the disk syncs at once.
 *
 * P1. It is used only while the writer thread has nothing to do, so neither waits for the other's lock.
 * P2. A disk that took long is left to the thread for a while: nothing else may have to wait for it.
 * P3. Where another process holds the database nothing was begun: the thread takes over, for it can wait.
 * P4. The log is carried over by the thread alone.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import { openWriting, type Writing } from "./open-writing.ts";
import type { BatchReport, Commits, WriterSetup } from "./writer-messages.ts";

const LONG_MS = 5;
const LEFT_TO_THE_THREAD = 200;

export class InPlaceWriter {
  readonly #setup: WriterSetup;
  readonly #clock: Clock;
  #writing: Writing | null = null;
  /** So many batches are the thread's. */
  #left = 0;

  constructor(setup: WriterSetup, clock: Clock) {
    this.#setup = { ...setup, busyTimeoutMs: 0 };
    this.#clock = clock;
  }

  /** Null when the thread is to do it. Throws when the medium failed. */
  commit(commits: Commits): BatchReport | null {
    if (this.#left > 0) {
      this.#left -= 1;
      return null;
    }
    const startedMs = this.#clock.monotonicMs();
    const report = this.#open().group.commit(commits);
    if (this.#clock.monotonicMs() - startedMs > LONG_MS) this.#left = LEFT_TO_THE_THREAD;
    return isHeldByOthers(report) ? null : report;
  }

  close(): void {
    this.#writing?.db.close();
    this.#writing = null;
  }

  #open(): Writing {
    if (this.#writing === null) {
      this.#writing = openWriting(this.#setup);
      this.#writing.db.exec("PRAGMA wal_autocheckpoint = 0");
    }
    return this.#writing;
  }
}

function isHeldByOthers({ commits, refused }: BatchReport): boolean {
  return refused.length === commits && refused[0]?.failure.code === "store.busy";
}
