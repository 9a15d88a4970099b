/**
 * The runtime: accepts runs, lets their lanes drive them, and brings every accepted run to its end, across restarts.
 *
 * R1. `submit` answers when the run is durable; from then on it ends in an outcome, whatever happens to the process.
 * R2. A full queue refuses before anything is written (O-5.5).
 * R3. A run has one driver at a time. What it waits for (an answer, a child's end, a cancellation) reaches its driver,
 *     or puts it back at the head of its lane.
 * R4. A run that is cancelled before it began ends at once: it waits for no worker, and its place in the queue is free.
 * R5. When the store fails nothing more is accepted or begun: `isAccepting` says so, and the next start recovers.
 */
import { startRun } from "../kernel/machine/state.ts";
import type { RunId, SessionId } from "../kernel/vocabulary/identifiers.ts";
import { terminalStatus } from "../kernel/vocabulary/outcome.ts";
import { Approvals } from "./approvals/approvals.ts";
import type { Authority } from "./capabilities/authority.ts";
import { Capabilities } from "./capabilities/capabilities.ts";
import { disclosureGuards } from "./model/disclosure-guards.ts";
import { timestampOf } from "./ports/clock.ts";
import { type RunStatus, type StoredRun, StoreError } from "./ports/store.ts";
import {
  type AcceptedRun,
  acceptanceWrites,
  acceptedRun,
  newRun,
  queuedRun,
  type RunDraft,
  waitingRun,
} from "./run/accept-run.ts";
import { openingMessages, openingRefs, readAcceptance } from "./run/acceptance.ts";
import { BodyCache } from "./run/body-cache.ts";
import { CommandExecutor } from "./run/command-executor.ts";
import { Conversation } from "./run/conversation.ts";
import { openLanes } from "./run/lanes.ts";
import { readBodiesOf, restoreRun } from "./run/read-run.ts";
import { RunBroadcaster, type Watcher } from "./run/run-broadcaster.ts";
import { type Departure, RunDriver } from "./run/run-driver.ts";
import type { RunObserver } from "./run/run-observer.ts";
import { sealDiverged } from "./run/seal-diverged.ts";
import type { RunPorts } from "./run-ports.ts";
import { SpendAccount, usedIn } from "./spend/spend-account.ts";
import { spendScopes } from "./spend/spend-scopes.ts";

export interface RuntimeSettings {
  /** Runs that may wait for their turn. */
  readonly maxQueued: number;
  /** Runs that may be at work at once. */
  readonly workers: number;
  /** The text behind the id of a system prompt. */
  readonly systemText: (id: string) => string;
  /** Told once: nothing more will be accepted, begun or performed. */
  readonly onStoreFailure: (error: unknown) => void;
}

export type Accepted =
  | { readonly ok: true; readonly runId: RunId; readonly sessionId: SessionId }
  | { readonly ok: false; readonly code: "queue.full" | "conflict" | "store.unavailable"; readonly message: string };

export interface Runtime {
  readonly approvals: Approvals;
  readonly capabilities: Capabilities;
  readonly isAccepting: boolean;
  /** False once the store has failed: what it holds is for the next start to say. */
  readonly isIntact: boolean;
  submit(draft: RunDraft): Promise<Accepted>;
  /** Null when there is no such run. */
  cancel(runId: RunId, by: string): Promise<RunStatus | null>;
  watch(runId: RunId, watcher: Watcher): () => void;
  /** Accepted here and not ended, and nobody was told anything of it yet: a watcher hears it from its first entry on. */
  isUntold(runId: RunId): boolean;
  /** The store said by itself that it cannot write any more. */
  storeFailed(error: unknown): void;
  /** Takes up every run that was accepted and has not ended. */
  recover(): Promise<{ readonly resumed: number }>;
  /** Lets effects in flight report, for so long, and leaves the rest for the next start. */
  stop(graceMs: number): Promise<void>;
}

const RECOVERY_PAGE = 500;

export function openRuntime(ports: RunPorts, settings: RuntimeSettings): Runtime {
  const { store, clock } = ports;
  const news = new RunBroadcaster();
  const guardFor = disclosureGuards();
  const drivers = new Map<RunId, RunDriver>();
  /** Asked for while the run may have been on its way to its driver's seat. */
  const cancelling = new Map<RunId, string>();
  /** Accepted here and not begun yet: nothing but a cancellation can have been written since, and the rest is at hand. */
  const fresh = new Map<RunId, AcceptedRun>();
  let isAccepting = true;
  let isIntact = true;
  /** Accepted and not begun yet; counted before the commit, so that a burst cannot slip past the limit. */
  let admitted = 0;

  /** Runs on their way from the lane to their departure. */
  const driving = new Map<RunId, Promise<void>>();

  const lanes = openLanes<RunId>(settings.workers, async (runId) => {
    // A run that is driven aside may be put into its lane again meanwhile; it is driven once at a time.
    for (let earlier = driving.get(runId); earlier !== undefined; earlier = driving.get(runId)) await earlier;
    const driven = drive(runId)
      .catch((error: unknown) => failed(runId, error))
      .finally(() => driving.delete(runId));
    driving.set(runId, driven);
    await driven;
  });

  const failStore = (error: unknown): void => {
    if (!isIntact) return;
    isAccepting = false;
    isIntact = false;
    lanes.close();
    approvals.stop();
    news.close(error);
    settings.onStoreFailure(error);
  };

  /** What concerns everybody stops everybody; anything else is this run's alone, and the others go on. */
  const failed = (runId: RunId, error: unknown): void => {
    if (isOfTheMedium(error)) failStore(error);
    else ports.onDefect(runId, error);
  };

  const resume = (runId: RunId): void => {
    if (drivers.has(runId)) return;
    store.findRun(runId).then(
      (run) => {
        if (run !== null && run.outcome === null) lanes.put(run.lane, runId, "first");
      },
      (error: unknown) => failed(runId, error),
    );
  };

  /** A question was answered. Its driver may be waiting for another one: it starts over from the journal. */
  const wake = (runId: RunId): void => {
    const driver = drivers.get(runId);
    if (driver === undefined) resume(runId);
    else driver.left.then(() => resume(runId));
  };

  const approvals = new Approvals(ports, wake);
  const capabilities = new Capabilities(ports);

  const observe = ({ runId }: StoredRun): RunObserver => ({
    entries: (entries) => news.entries(runId, entries),
    delta: (delta) => news.delta(runId, delta),
    output: (output) => news.output(runId, output),
    hasReaders: () => news.hasWatchers(runId),
    lost: (error) => failed(runId, error),
    abandonedChild: (childRunId) => {
      cancel(childRunId, `run:${runId}`).catch((error: unknown) => failed(childRunId, error));
    },
    awaitedChild: (childRunId) => resume(childRunId),
  });

  const drive = async (runId: RunId): Promise<void> => {
    const begun = fresh.get(runId) ?? null;
    fresh.delete(runId);
    const run = begun === null ? await store.findRun(runId) : queuedRun(begun, cancelling.get(runId) ?? null);
    if (run === null || run.outcome !== null || !isAccepting) return;
    const restored = begun === null ? await restoreRun(store, run) : unbegun(begun);
    if (!restored.ok) {
      await sealDiverged(ports, run, restored.entries);
      depart(run);
      return;
    }
    const authority = await capabilities.authorityFor(run);
    const departure = await driveUnder(authority, run, restored, begun).finally(() => capabilities.release(authority));
    if (departure === "ended") depart(run);
  };

  const driveUnder = async (
    authority: Authority,
    run: StoredRun,
    restored: Restored,
    begun: AcceptedRun | null,
  ): Promise<Departure> => {
    const { runId } = run;
    const driver = await seat(run, restored, authority, begun);
    if (!isAccepting) return "suspended";
    drivers.set(runId, driver);
    driver.start();
    const by = cancelling.get(runId);
    if (by !== undefined) driver.tell({ type: "cancel.requested", by });
    const departure = await driver.left;
    drivers.delete(runId);
    return departure;
  };

  const seat = async (
    run: StoredRun,
    { entries, state }: Restored,
    authority: Authority,
    begun: AcceptedRun | null,
  ): Promise<RunDriver> => {
    const acceptance = begun?.acceptance ?? readAcceptance(run.accepted);
    const known = new Map(begun?.bodies.map((body) => [body.ref, body]));
    const missing = openingRefs(acceptance).filter((ref) => !known.has(ref));
    const isAtHand = begun !== null && missing.length === 0;
    const stored = isAtHand ? new Map() : await readBodiesOf(store, run, entries, missing);
    const bodyCache = new BodyCache(ports.random, new Map([...known, ...stored]));
    const opening = openingMessages(acceptance, settings.systemText, (ref) => bodyCache.read(ref));
    const conversation = new Conversation(opening, (ref) => bodyCache.read(ref));
    conversation.hear(entries);
    const systemTexts = opening.flatMap(({ role, content }) => (role === "system" ? [content] : []));
    const found = ports.model(run.model);
    // One that no longer sees is not the model it was accepted for: to leave the images out would be another question.
    const model = acceptance.event.media !== undefined && found?.vision === undefined ? null : found;
    if (model !== null && model.tokens.prepare !== null) await model.tokens.prepare();
    const day = timestampOf(clock.nowMs()).slice(0, 10);
    const account = new SpendAccount(run, model, await spendScopes(ports, run, state.contract, day), usedIn(entries));
    const observer = observe(run);
    const guard = guardFor(systemTexts);
    // A model that is now configured as one that cannot be told is not told.
    const effort = (model?.thinking && acceptance.thinkingLevel) ?? null;
    const parts = {
      ports,
      run,
      bodyCache,
      conversation,
      account,
      authority,
      approvals,
      guard,
      model,
      effort,
      observer,
    };
    const executor = new CommandExecutor(parts);
    return new RunDriver({ ...parts, acceptance, isAccepted: begun?.isAccepted ?? null, executor }, state);
  };

  const depart = (run: StoredRun): void => {
    cancelling.delete(run.runId);
    approvals.withdraw(run.runId);
    if (run.parentRunId !== null) wake(run.parentRunId);
  };

  const cancel = async (runId: RunId, by: string): Promise<RunStatus | null> => {
    const run = await store.findRun(runId);
    if (run === null) return null;
    if (run.outcome !== null) return terminalStatus(run.outcome);
    cancelling.set(runId, by);
    await store.commit([{ type: "request-cancel", runId, by }], "barrier");
    const driver = drivers.get(runId);
    if (driver !== undefined) {
      driver.tell({ type: "cancel.requested", by });
      // It may be about to park: then it is taken up again, and finds that it was cancelled.
      driver.left.then(() => resume(runId));
      return "running";
    }
    if (lanes.beginAside(run.lane, runId)) return run.status;
    // It is parked; or on its way to its driver's seat, where it is told, and may yet park before it hears of it.
    (driving.get(runId) ?? Promise.resolve()).then(() => resume(runId));
    return run.status;
  };

  return {
    approvals,
    capabilities,
    get isAccepting() {
      return isAccepting;
    },
    get isIntact() {
      return isIntact;
    },
    submit: async (draft) => {
      if (!isAccepting) return refuse("store.unavailable", "the gateway is not accepting runs; try again later");
      if (admitted + lanes.waiting >= settings.maxQueued) return refuse("queue.full", "run queue is full");
      const { runId, sessionId, lane } = draft.run;
      const run = newRun(draft, timestampOf(clock.nowMs()));
      const committed = store.commit(acceptanceWrites(draft, run), "barrier");
      fresh.set(runId, acceptedRun(draft, run, committed, clock));
      admitted += 1;
      // When the acceptance is on its way to the disk: there is time to make ready what the run begins with.
      clock.afterThisTurn(() => {
        admitted -= 1;
        if (fresh.has(runId)) lanes.put(lane, runId, "last");
      });
      try {
        await committed;
      } catch (error) {
        lanes.remove(lane, runId);
        fresh.delete(runId);
        return refusalOf(error, failStore);
      }
      const waiting = fresh.get(runId);
      if (waiting !== undefined) fresh.set(runId, waitingRun(waiting));
      news.begin(runId);
      return { ok: true, runId, sessionId };
    },
    cancel,
    watch: (runId, watcher) => news.watch(runId, watcher),
    isUntold: (runId) => news.isUntold(runId),
    storeFailed: failStore,
    recover: async () => {
      const open: (Pick<StoredRun, "lane" | "runId"> & { readonly isCalledOff: boolean })[] = [];
      for (let after = 0; ; ) {
        const runs = await store.openRuns(after, RECOVERY_PAGE);
        const claims = runs.map(({ runId, epoch }) => ({ type: "claim-run", runId, epoch: epoch + 1 }) as const);
        if (claims.length > 0) await store.commit(claims, "barrier");
        open.push(...runs.map((run) => ({ lane: run.lane, runId: run.runId, isCalledOff: isCalledOff(run) })));
        after = runs.at(-1)?.position ?? after;
        if (runs.length < RECOVERY_PAGE) break;
      }
      // Only now: a child that a resumed run starts must not be claimed under its driver.
      for (const { lane, runId, isCalledOff } of open) {
        lanes.put(lane, runId, "last");
        if (isCalledOff) lanes.beginAside(lane, runId);
      }
      await approvals.sweep();
      return { resumed: open.length };
    },
    stop: async (graceMs) => {
      isAccepting = false;
      lanes.close();
      approvals.stop();
      for (const driver of drivers.values()) driver.suspend();
      const { promise: graceOver, resolve } = Promise.withResolvers<void>();
      const callOff = clock.wake(graceMs, resolve);
      await Promise.race([Promise.all(driving.values()), graceOver]);
      callOff();
    },
  };
}

/** Nothing can be read or written any more, whoever asks. */
function isOfTheMedium(error: unknown): boolean {
  return error instanceof StoreError && ["store.unavailable", "store.busy", "store.closed"].includes(error.code);
}

/** Cancelled before it began: it has nothing to do but to end. */
function isCalledOff({ status, cancelledBy }: StoredRun): boolean {
  return status === "queued" && cancelledBy !== null;
}

function unbegun({ run: { runId }, contract }: AcceptedRun): Restored {
  return { ok: true, entries: [], state: startRun(runId, contract) };
}

type Restored = Extract<Awaited<ReturnType<typeof restoreRun>>, { ok: true }>;

function refusalOf(error: unknown, failStore: (error: unknown) => void): Accepted {
  if (error instanceof StoreError && error.code === "store.conflict") {
    return refuse("conflict", "this request was accepted before");
  }
  if (error instanceof StoreError && error.code === "store.busy") {
    return refuse("store.unavailable", "the database is locked by another process; try again");
  }
  failStore(error);
  return refuse("store.unavailable", "nothing can be written; see the log");
}

function refuse(code: Extract<Accepted, { ok: false }>["code"], message: string): Accepted {
  return { ok: false, code, message };
}
