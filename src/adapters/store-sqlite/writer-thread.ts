/**
 * Collects commits and sends them to the writer thread.
 *
 * T1. The commits of one turn of the event loop travel in one message. An `eager` commit also waits while a message is
 *     unanswered, so that more runs share a sync. A lazy commit goes with the next message, or after LAZY_FLUSH_MS. No
 *     commit overtakes another.
 * T2. After the medium failed nothing is sent: every unanswered and every later commit is refused.
 * T3. The WAL is checkpointed when the store has been idle for a while, or after many commits.
 * T4. The thread runs, and keeps the process alive, until `close` is done.
 * T5. What a commit writes is read when it is sent: a run's entries are encoded after the model was asked. If that fails,
 *     the commit is refused alone.
 */
import { Worker } from "node:worker_threads";
import type { Clock } from "../../runtime/ports/clock.ts";
import { type CommitResult, LAZY_FLUSH_MS, StoreError, type Urgency, type Write } from "../../runtime/ports/store.ts";
import { threadEnvironment } from "../../runtime/thread-environment.ts";
import { type PackedWrite, pack } from "./packed-writes.ts";
import { errorOf } from "./sqlite-failure.ts";
import { closedError } from "./store-reads.ts";
import {
  type ArchiveRequest,
  type BatchReport,
  type WriterReply,
  type WriterRequest,
  type WriterSetup,
  workerFile,
} from "./thread-messages.ts";

/** About a megabyte of WAL with one active run, ten with many. SQLite checkpoints a longer WAL by itself (WAL_PAGES). */
const CHECKPOINT_AFTER_COMMITS = 64;
const CHECKPOINT_AT_LATEST = 1000;
const IDLE_MS = 500;

interface PendingCommit {
  resolve(result: CommitResult): void;
  reject(error: unknown): void;
}

interface UnsentCommit extends PendingCommit {
  readonly writes: readonly Write[];
}

export class WriterThread {
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #listeners: ((error: Error) => void)[] = [];
  #unsent: UnsentCommit[] = [];
  /** Commits that were sent, in order; their writes are released as soon as they are sent. */
  readonly #unanswered: PendingCommit[] = [];
  /** Send when the last message is answered. */
  #isDue = false;
  /** A send is scheduled for the end of this turn of the event loop. */
  #isScheduled = false;
  #cancelLazy: (() => void) | null = null;
  #uncheckpointed = 0;
  #cancelCheckpoint: (() => void) | null = null;
  #refusal: Error | null = null;
  #closing: Promise<void> | null = null;
  #closeFailure: Error | null = null;
  #onClosed: (() => void) | null = null;
  #hasExited = false;
  readonly #purges: PromiseWithResolvers<void>[] = [];
  readonly #archiving: PromiseWithResolvers<boolean>[] = [];

  /** `code` is the thread's program; tests pass one that fails. */
  constructor(setup: WriterSetup, clock: Clock, code: URL = workerFile("writer-worker")) {
    this.#clock = clock;
    this.#worker = new Worker(code, { workerData: setup, name: "store-writer", env: threadEnvironment() });
    this.#worker.on("message", (reply: WriterReply) => this.#receive(reply));
    this.#worker.on("error", (error) => this.#break(writerLost(error)));
    this.#worker.on("exit", () => this.#end());
  }

  commit(writes: readonly Write[], urgency: Urgency): Promise<CommitResult> {
    return new Promise((resolve, reject) => {
      const refusal = this.#closing === null ? this.#refusal : closedError();
      if (refusal !== null) return reject(refusal);
      this.#unsent.push({ writes, resolve, reject });
      if (urgency === "lazy") this.#cancelLazy ??= this.#clock.wake(LAZY_FLUSH_MS, () => this.#sendWhenAnswered());
      else if (urgency === "eager") this.#sendWhenAnswered();
      else this.#sendAfterThisTurn();
    });
  }

  /** Compresses some ended runs; false when there is nothing more to do. */
  archive(request: ArchiveRequest): Promise<boolean> {
    const refusal = this.#closing === null ? this.#refusal : closedError();
    if (refusal !== null) return Promise.reject(refusal);
    const archiving = Promise.withResolvers<boolean>();
    this.#archiving.push(archiving);
    this.#post(request);
    return archiving.promise;
  }

  /** Empties the log, after everything that was committed before. */
  purge(): Promise<void> {
    const refusal = this.#closing === null ? this.#refusal : closedError();
    if (refusal !== null) return Promise.reject(refusal);
    const purge = Promise.withResolvers<void>();
    this.#purges.push(purge);
    this.#send();
    this.#post("purge");
    return purge.promise;
  }

  /** Called once, when nothing can be written any more: immediately if that is so already. Closing does not count. */
  onUnavailable(listener: (error: Error) => void): void {
    if (this.#refusal === null) this.#listeners.push(listener);
    else if (!isClosed(this.#refusal)) listener(this.#refusal);
  }

  /** Resolves when the thread has ended, also if it had ended by itself before. */
  close(): Promise<void> {
    this.#closing ??= new Promise<void>((resolve, reject) => {
      this.#onClosed = () => (this.#closeFailure === null ? resolve() : reject(this.#closeFailure));
      if (this.#hasExited) return this.#onClosed();
      this.#send();
      this.#cancelCheckpoint?.();
      this.#post("close");
    });
    return this.#closing;
  }

  #sendWhenAnswered(): void {
    this.#isDue = true;
    if (this.#unanswered.length === 0) this.#sendAfterThisTurn();
  }

  /** Later callbacks of this turn may commit too. */
  #sendAfterThisTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#send());
  }

  #send(): void {
    this.#isScheduled = false;
    this.#isDue = false;
    this.#cancelLazy?.();
    this.#cancelLazy = null;
    const commits: (readonly PackedWrite[])[] = [];
    for (const { writes, resolve, reject } of this.#unsent) {
      try {
        commits.push(pack(writes));
        this.#unanswered.push({ resolve, reject });
      } catch (error) {
        reject(error);
      }
    }
    this.#unsent = [];
    if (commits.length > 0) this.#post(commits);
  }

  #post(request: WriterRequest): void {
    this.#worker.postMessage(request);
  }

  #receive(reply: WriterReply): void {
    if (reply.type === "committed") this.#settle(reply);
    else if (reply.type === "purged") this.#purged(reply.isWhole);
    else if (reply.type === "archived") this.#archiving.shift()?.resolve(reply.isMore);
    else if (reply.type === "broken") this.#break(errorOf(reply.failure));
    else this.#closeFailure = reply.failure === null ? null : errorOf(reply.failure);
  }

  #purged(isWhole: boolean): void {
    const purge = this.#purges.shift();
    if (isWhole) purge?.resolve();
    else purge?.reject(new StoreError("store.busy", "Another process reads the database: try again."));
  }

  #settle({ commits, refused, spend }: BatchReport): void {
    const ended = this.#unanswered.splice(0, commits);
    if (this.#isDue) this.#sendWhenAnswered();
    const failures = new Map(refused.map(({ at, failure }) => [at, failure]));
    const results = new Map(spend.map((result) => [result.at, result.spend]));
    // In the order of the commits: subscribers see a run's entries in order.
    for (const [at, { resolve, reject }] of ended.entries()) {
      const failure = failures.get(at);
      if (failure === undefined) resolve({ spend: results.get(at) ?? null });
      else reject(errorOf(failure));
    }
    this.#checkpointWhenIdle(commits);
  }

  #checkpointWhenIdle(commits: number): void {
    this.#uncheckpointed += commits;
    if (this.#uncheckpointed >= CHECKPOINT_AT_LATEST) {
      this.#uncheckpointed = 0;
      this.#post("checkpoint");
      return;
    }
    if (this.#uncheckpointed < CHECKPOINT_AFTER_COMMITS || this.#cancelCheckpoint !== null) return;
    const seen = this.#uncheckpointed;
    this.#cancelCheckpoint = this.#clock.wake(IDLE_MS, () => {
      this.#cancelCheckpoint = null;
      if (this.#uncheckpointed !== seen || this.#unanswered.length + this.#unsent.length > 0)
        return this.#checkpointWhenIdle(0);
      this.#uncheckpointed = 0;
      this.#post("rest");
    });
  }

  #break(error: Error): void {
    if (this.#refusal !== null) return;
    this.#refusal = error;
    const waiting = [...this.#unanswered.splice(0), ...this.#unsent.splice(0), ...this.#purges.splice(0)];
    for (const { reject } of this.#archiving.splice(0)) reject(error);
    for (const { reject } of waiting) reject(error);
    const listeners = this.#listeners.splice(0);
    if (!isClosed(error)) for (const listener of listeners) listener(error);
  }

  #end(): void {
    this.#hasExited = true;
    this.#cancelLazy?.();
    this.#cancelCheckpoint?.();
    this.#break(this.#closing === null ? writerLost(null) : closedError());
    this.#onClosed?.();
  }
}

function isClosed(error: Error): boolean {
  return error instanceof StoreError && error.code === "store.closed";
}

function writerLost(cause: unknown): StoreError {
  return new StoreError(
    "store.unavailable",
    "The store's writer thread failed, so nothing can be saved. Restart surety; if it happens again, report it.",
    {
      cause,
    },
  );
}
