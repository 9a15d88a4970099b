/**
 * When the records of ended runs are written: while no run is at work, a few runs at a time, in a thread of low priority. So
 * a step costs nothing more with records than without. What is left when the home is closed is written then, as far as
 * CLOSING_MS allows; the rest waits in the store for the next start.
 */
import { Worker } from "node:worker_threads";
import { RunRecords } from "../adapters/records/run-records.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { type Store, StoreError } from "../runtime/ports/store.ts";
import { threadEnvironment } from "../runtime/thread-environment.ts";

export interface RecordsWorkerData {
  readonly home: string;
}
export type RecordsRequest = "close" | { readonly maxRuns: number };
export type RecordsReply =
  | { readonly isMore: boolean }
  | { readonly failure: string }
  | { readonly runId: string; readonly problem: string };

interface RecordsThreadParts {
  readonly store: Store;
  readonly homeDirectory: string;
  readonly clock: Pick<Clock, "wake" | "monotonicMs">;
  readonly isBusy: () => boolean;
  readonly onError: (error: unknown) => void;
  /** Nothing is left to write, and nothing is at work. */
  readonly onDone: () => void;
}

/** Without a run at work or ended for so long, the gateway counts as idle. */
const IDLE_MS = 2_000;
/** A gateway that is never idle writes some records as often as this. */
const MAX_WAIT_MS = 60_000;
const RUNS_AT_ONCE = 20;
const CLOSING_MS = 2_000;
/** The thread makes much that is short-lived: a small young generation keeps the process small, and its work may take longer. */
const YOUNG_GENERATION_MB = 2;

export class RecordsThread {
  readonly #parts: RecordsThreadParts;
  readonly #own: RunRecords;
  #cancelWake: (() => void) | null = null;
  #wantedSinceMs: number | null = null;
  #wasWoken = false;
  #isClosed = false;
  /** How much waits for the thread to pause. */
  #waiting = 0;
  #working: Promise<void> = Promise.resolve();
  #worker: Worker | null = null;
  #pending: PromiseWithResolvers<boolean> | null = null;

  constructor(parts: RecordsThreadParts) {
    this.#parts = parts;
    const { store, homeDirectory } = parts;
    this.#own = new RunRecords({ store, homeDirectory, onUnreadable: this.#passedOver });
  }

  /** A run has ended, or the home was opened. */
  wake(): void {
    if (this.#isClosed) return;
    const { clock } = this.#parts;
    this.#wasWoken = true;
    this.#wantedSinceMs ??= clock.monotonicMs();
    this.#cancelWake?.();
    this.#cancelWake = clock.wake(IDLE_MS, () => {
      this.#cancelWake = null;
      this.#working = this.#working.then(() => this.#whileIdle()).catch(this.#report);
    });
  }

  /** Between two batches: what rewrites the files that the thread appends to. */
  pausing(work: () => Promise<void>): Promise<void> {
    this.#waiting += 1;
    const working = this.#working.then(work).finally(() => {
      this.#waiting -= 1;
    });
    this.#working = working.catch(() => {});
    return working;
  }

  /** Ends the thread. `isWritable`: what is left may be written. */
  async close(isWritable: boolean): Promise<void> {
    this.#isClosed = true;
    this.#cancelWake?.();
    this.#worker?.ref();
    await this.#working;
    await this.#endThread();
    // A command that ends no run leaves the records to the gateway.
    if (!isWritable || !this.#wasWoken) return;
    const { clock } = this.#parts;
    const untilMs = clock.monotonicMs() + CLOSING_MS;
    try {
      while ((await this.#own.project(RUNS_AT_ONCE)) && clock.monotonicMs() < untilMs);
    } catch (error) {
      this.#report(error);
    }
  }

  async #whileIdle(): Promise<void> {
    const { clock, isBusy } = this.#parts;
    for (let isMore = await this.#own.hasWork(); isMore && !this.#isClosed; ) {
      const waitedMs = clock.monotonicMs() - (this.#wantedSinceMs ?? clock.monotonicMs());
      if (this.#waiting > 0 || (isBusy() && waitedMs < MAX_WAIT_MS)) return this.wake();
      this.#wantedSinceMs = clock.monotonicMs();
      isMore = await this.#project();
    }
    this.#wantedSinceMs = null;
    await this.#endThread();
    if (!this.#isClosed) this.#parts.onDone();
  }

  #project(): Promise<boolean> {
    this.#worker ??= this.#start();
    this.#pending = Promise.withResolvers<boolean>();
    this.#worker.postMessage({ maxRuns: RUNS_AT_ONCE } satisfies RecordsRequest);
    return this.#pending.promise;
  }

  #start(): Worker {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const workerData: RecordsWorkerData = { home: this.#parts.homeDirectory };
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB };
    const options = { workerData, name: "records", env: threadEnvironment(), resourceLimits };
    const worker = new Worker(new URL(`./records-worker.${extension}`, import.meta.url), options);
    worker.on("message", (reply: RecordsReply) => {
      if ("problem" in reply) this.#passedOver(reply.runId, reply.problem);
      else if ("failure" in reply) this.#pending?.reject(new Error(reply.failure));
      else this.#pending?.resolve(reply.isMore);
    });
    const ended = (error?: Error): void => {
      if (this.#worker === worker) this.#worker = null;
      this.#pending?.reject(error ?? new Error("The records thread ended."));
    };
    worker.on("error", ended);
    worker.on("exit", () => ended());
    worker.unref();
    return worker;
  }

  async #endThread(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.ref();
    worker.postMessage("close" satisfies RecordsRequest);
    await ended;
  }

  readonly #passedOver = (runId: string, problem: unknown): void => {
    this.#parts.onError(new Error(`No records of ${runId}: ${problem}`));
  };

  readonly #report = (error: unknown): void => {
    const isAway = error instanceof StoreError && ["store.closed", "store.unavailable"].includes(error.code);
    if (!isAway) this.#parts.onError(error);
  };
}
