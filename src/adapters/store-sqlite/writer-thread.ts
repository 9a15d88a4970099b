/**
 * Where commits are gathered and sent to the writer thread.
 *
 * T1. What is committed in one turn of the event loop travels in one message, and what nobody waits for also while a
 *     message is unanswered: the more runs go on at once, the more of them share a sync. A lazy commit waits for the next
 *     that is sent, or for LAZY_FLUSH_MS; nothing overtakes it.
 * T2. After the medium failed nothing is sent any more: all that is unanswered, and all that comes, is refused.
 * T3. The log is carried over into the database when nothing was committed for a while, or very much was.
 * T4. The thread lives, and keeps the process alive, from the start to the end of `close`.
 */
import { Worker } from "node:worker_threads";
import type { Clock } from "../../runtime/ports/clock.ts";
import { type CommitResult, LAZY_FLUSH_MS, StoreError, type Urgency, type Write } from "../../runtime/ports/store.ts";
import { type GivenCommit, gatherCommits, type Waiting } from "./coalesce-commits.ts";
import { closedError } from "./store-reads.ts";
import { errorOf } from "./thread-failure.ts";
import { workerFile } from "./worker-file.ts";
import type { BatchReport, WriterReply, WriterRequest, WriterSetup } from "./writer-messages.ts";

/** About a megabyte of log where a run is alone; with many at once, ten. Where that is more, SQLite is sooner (LOG_PAGES). */
const CHECKPOINT_AFTER_COMMITS = 64;
const CHECKPOINT_AT_LATEST = 1000;
const IDLE_MS = 500;

const NOTHING_RESERVED: CommitResult = { spend: null };

export class WriterThread {
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #listeners: ((error: Error) => void)[] = [];
  #unsent: GivenCommit[] = [];
  /** Who waits for what was sent, in the order in which it was given; the writes themselves are not held any longer. */
  readonly #unanswered: (readonly Waiting[])[] = [];
  /** Everybody whose commit is unsent has nothing else to do than wait for it. */
  #isAllAwaited = true;
  /** Something is to be sent when the last message is answered. */
  #isDue = false;
  /** It is sent at the end of this turn of the event loop. */
  #isOnItsWay = false;
  #cancelLazy: (() => void) | null = null;
  #uncheckpointed = 0;
  #cancelCheckpoint: (() => void) | null = null;
  #refusal: Error | null = null;
  #closing: Promise<void> | null = null;
  #closeFailure: Error | null = null;
  #onClosed: (() => void) | null = null;
  #hasExited = false;

  /** `code` is the thread's program; tests give one that fails. */
  constructor(setup: WriterSetup, clock: Clock, code: URL = workerFile("writer-worker")) {
    this.#clock = clock;
    this.#worker = new Worker(code, { workerData: setup, name: "store-writer", env: {} });
    this.#worker.on("message", (reply: WriterReply) => this.#hear(reply));
    this.#worker.on("error", (error) => this.#break(gone(error)));
    this.#worker.on("exit", () => this.#end());
  }

  commit(writes: readonly Write[], urgency: Urgency): Promise<CommitResult> {
    return new Promise((resolve, reject) => {
      const refusal = this.#closing === null ? this.#refusal : closedError();
      if (refusal !== null) return reject(refusal);
      this.#unsent.push({ writes, urgency, resolve, reject });
      if (urgency === "lazy") this.#cancelLazy ??= this.#clock.wake(LAZY_FLUSH_MS, () => this.#sendWhenAnswered());
      else if (urgency === "eager") {
        this.#isAllAwaited = false;
        this.#sendWhenAnswered();
      } else this.#sendAfterThisTurn();
    });
  }

  /** Told once, when nothing can be written any more; at once, when that is so already. Closing is no such news. */
  onUnavailable(listener: (error: Error) => void): void {
    if (this.#refusal === null) this.#listeners.push(listener);
    else if (!isClosed(this.#refusal)) listener(this.#refusal);
  }

  /** Resolves when the thread is gone, whether it went because it was asked to or by itself before. */
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

  /**
   * Whatever else the sockets and files of this turn bring may commit too. Where somebody has other things to do than wait,
   * what this turn sends over sockets goes first: a model is asked, and answers meanwhile.
   */
  #sendAfterThisTurn(): void {
    if (this.#isOnItsWay) return;
    this.#isOnItsWay = true;
    setImmediate(() => (this.#isAllAwaited ? this.#send() : setImmediate(() => this.#send())));
  }

  #send(): void {
    this.#isOnItsWay = false;
    this.#isDue = false;
    this.#cancelLazy?.();
    this.#cancelLazy = null;
    const gathered = gatherCommits(this.#unsent);
    this.#unsent = [];
    this.#isAllAwaited = true;
    if (gathered.length === 0) return;
    for (const { waiting } of gathered) this.#unanswered.push(waiting);
    this.#post(gathered.map(({ writes }) => writes));
  }

  #post(request: WriterRequest): void {
    this.#worker.postMessage(request);
  }

  #hear(reply: WriterReply): void {
    if (typeof reply === "number") this.#settle({ commits: reply, refused: [], spend: [] });
    else if (reply.type === "committed") this.#settle(reply);
    else if (reply.type === "broken") this.#break(errorOf(reply.failure));
    else this.#closeFailure = reply.failure === null ? null : errorOf(reply.failure);
  }

  #settle({ commits, refused, spend }: BatchReport): void {
    const ended = this.#unanswered.splice(0, commits);
    if (this.#isDue) this.#sendWhenAnswered();
    const failures = new Map(refused.map(({ at, failure }) => [at, failure]));
    const results = new Map(spend.map((result) => [result.at, { spend: result.spend }]));
    // In the order in which they were given: whoever watches a run hears of its entries one after the other.
    for (const [at, waiting] of ended.entries()) {
      const failure = failures.get(at);
      for (const { resolve, reject } of waiting) {
        if (failure === undefined) resolve(results.get(at) ?? NOTHING_RESERVED);
        else reject(errorOf(failure));
      }
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
      this.#post("checkpoint");
    });
  }

  #break(error: Error): void {
    if (this.#refusal !== null) return;
    this.#refusal = error;
    for (const waiting of this.#unanswered.splice(0)) for (const { reject } of waiting) reject(error);
    for (const { reject } of this.#unsent.splice(0)) reject(error);
    const listeners = this.#listeners.splice(0);
    // Whoever closed the store need not be told.
    if (!isClosed(error)) for (const listener of listeners) listener(error);
  }

  #end(): void {
    this.#hasExited = true;
    this.#cancelLazy?.();
    this.#cancelCheckpoint?.();
    this.#break(this.#closing === null ? gone(null) : closedError());
    this.#onClosed?.();
  }
}

function isClosed(error: Error): boolean {
  return error instanceof StoreError && error.code === "store.closed";
}

function gone(cause: unknown): StoreError {
  return new StoreError("store.unavailable", "The store's writer failed. Restart; if it happens again, report it.", {
    cause,
  });
}
