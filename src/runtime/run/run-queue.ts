/**
 * RunQueue owns when a run is driven: admission, the sessions' lanes, and one driver per run at a time. RunOpener makes the
 * driver; cancelling and recovery act on the queue from outside (cancel-run.ts, recover-runs.ts).
 *
 * `submit` answers when the run is durable; from then on the run ends in an outcome, even if the process dies. A full queue
 * refuses before anything is written (O-5.5). An event that a parked run waits for puts it back at the head of its lane.
 */
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Clock } from "../ports/clock.ts";
import { type Store, type StoredRun, StoreError } from "../ports/store.ts";
import type { RunDraft } from "./accept-run.ts";
import type { AcceptedRuns } from "./accepted-runs.ts";
import { type Lanes, openLanes } from "./lanes.ts";
import type { DriverExit, RunDriver } from "./run-driver.ts";
import type { RunOpener } from "./run-opener.ts";

export type Accepted =
  | { readonly ok: true; readonly runId: RunId; readonly sessionId: SessionId }
  | { readonly ok: false; readonly code: "queue.full" | "conflict" | "store.unavailable"; readonly message: string };

export interface QueueDependencies {
  readonly store: Pick<Store, "findRun">;
  readonly clock: Pick<Clock, "afterThisTurn">;
  readonly accepted: AcceptedRuns;
  readonly opener: RunOpener;
  /** Runs that may wait. */
  readonly maxQueued: number;
  /** Runs that may be driven at once. */
  readonly workers: number;
  readonly onEnded: (run: StoredRun) => void;
  /** The run could not be opened, driven or looked up. */
  readonly onFailure: (runId: RunId, error: unknown) => void;
  /** The store failed while it accepted a run. */
  readonly onStoreFailure: (error: unknown) => void;
}

/** A run between its turn and the exit of its driver. */
interface ActiveRun {
  /** Null while the run is being opened. */
  driver: RunDriver | null;
  /** Set when it was cancelled after it was read from the store. */
  cancelledBy: string | null;
  exited: Promise<void>;
}

export class RunQueue {
  readonly #parts: QueueDependencies;
  readonly #lanes: Lanes<RunId>;
  readonly #active = new Map<RunId, ActiveRun>();
  /** Submitted and not in its lane yet: counted before the commit, so that a burst cannot pass the limit. */
  #admitted = 0;
  #isOpen = true;

  constructor(parts: QueueDependencies) {
    this.#parts = parts;
    this.#lanes = openLanes<RunId>(
      () => parts.workers,
      (runId) => this.#begin(runId),
    );
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** A run is being accepted or driven, or waits for its turn. */
  get isBusy(): boolean {
    return this.#admitted + this.#lanes.waiting + this.#active.size > 0;
  }

  async submit(draft: RunDraft): Promise<Accepted> {
    const { accepted, clock, maxQueued, onStoreFailure } = this.#parts;
    const { runId, sessionId, lane } = draft.run;
    if (!this.#isOpen)
      return refuse("store.unavailable", "The gateway is not accepting runs at the moment; retry later.");
    if (this.#admitted + this.#lanes.waiting >= maxQueued) {
      return refuse("queue.full", `The run queue is full (${maxQueued} runs are waiting); retry later.`);
    }
    const accepting = accepted.accept(draft);
    this.#admitted += 1;
    // In the next turn the commit has been sent, and the run is prepared while it is written.
    clock.afterThisTurn(() => {
      this.#admitted -= 1;
      if (accepted.has(runId)) this.#lanes.put(lane, runId, "last");
    });
    try {
      await accepting;
    } catch (error) {
      this.#lanes.remove(lane, runId);
      return refusalOf(error, onStoreFailure);
    }
    return { ok: true, runId, sessionId };
  }

  enqueue({ lane, runId }: Pick<StoredRun, "lane" | "runId">): void {
    this.#lanes.put(lane, runId, "last");
  }

  /** Starts a waiting run without waiting for its lane or a worker; false when it does not wait. */
  startNow({ lane, runId }: Pick<StoredRun, "lane" | "runId">): boolean {
    return this.#lanes.startNow(lane, runId);
  }

  /** Puts an open run at the head of its lane, unless it is being driven. */
  resume(runId: RunId): void {
    const { store, onFailure } = this.#parts;
    if (this.#driverOf(runId) !== null) return;
    store.findRun(runId).then(
      (run) => {
        if (run !== null && run.outcome === null) this.#lanes.put(run.lane, runId, "first");
      },
      (error: unknown) => onFailure(runId, error),
    );
  }

  /** An answer for the run was stored. Its driver may be waiting for another one; after its exit the run is read again. */
  wake(runId: RunId): void {
    const driver = this.#driverOf(runId);
    if (driver === null) this.resume(runId);
    else driver.exited.then(() => this.resume(runId));
  }

  /** Call when the cancellation is stored. True when a driver takes it; a waiting run is started to end immediately. */
  cancel({ lane, runId }: Pick<StoredRun, "lane" | "runId">, by: string): boolean {
    const active = this.#active.get(runId);
    const resume = (): void => this.resume(runId);
    if (active !== undefined) active.cancelledBy = by;
    if (active?.driver) {
      active.driver.post({ type: "cancel.requested", by });
      // It may park before it takes the event; then the run is read again.
      active.driver.exited.then(resume);
      return true;
    }
    if (!this.#lanes.startNow(lane, runId)) (active?.exited ?? Promise.resolve()).then(resume);
    return false;
  }

  /** No run is accepted or started from now on. */
  close(): void {
    this.#isOpen = false;
    this.#lanes.close();
  }

  /** Resolves when every driver has exited at a safe point. */
  async suspendAll(): Promise<void> {
    for (const { driver } of this.#active.values()) driver?.suspend();
    await Promise.all([...this.#active.values()].map(({ exited }) => exited));
  }

  #driverOf(runId: RunId): RunDriver | null {
    return this.#active.get(runId)?.driver ?? null;
  }

  async #begin(runId: RunId): Promise<void> {
    // A cancelled run that was started aside may be put into its lane again meanwhile.
    for (let earlier = this.#active.get(runId); earlier !== undefined; earlier = this.#active.get(runId)) {
      await earlier.exited;
    }
    const active: ActiveRun = { driver: null, cancelledBy: null, exited: Promise.resolve() };
    this.#active.set(runId, active);
    active.exited = this.#drive(runId, active)
      .catch((error: unknown) => this.#parts.onFailure(runId, error))
      .finally(() => this.#active.delete(runId));
    await active.exited;
  }

  async #drive(runId: RunId, active: ActiveRun): Promise<void> {
    const ready = await this.#parts.opener.open(runId);
    if (ready === null) return;
    const { run, driver, close } = ready;
    const exit = await (driver === null ? "ended" : this.#start(driver, active).finally(close));
    if (exit === "ended") this.#parts.onEnded(run);
  }

  async #start(driver: RunDriver, active: ActiveRun): Promise<DriverExit> {
    if (!this.#isOpen) return "suspended";
    active.driver = driver;
    driver.start();
    if (active.cancelledBy !== null) driver.post({ type: "cancel.requested", by: active.cancelledBy });
    const exit = await driver.exited;
    active.driver = null;
    return exit;
  }
}

function refusalOf(error: unknown, onStoreFailure: (error: unknown) => void): Accepted {
  if (error instanceof StoreError && error.code === "store.conflict") {
    return refuse("conflict", "This request was accepted before.");
  }
  if (error instanceof StoreError && error.code === "store.busy") {
    return refuse("store.unavailable", "Another process has locked the database; retry.");
  }
  onStoreFailure(error);
  return refuse("store.unavailable", "Storage is unavailable, so the run was not accepted; see the log.");
}

function refuse(code: Extract<Accepted, { ok: false }>["code"], message: string): Accepted {
  return { ok: false, code, message };
}
