/**
 * The runtime: accepts runs and brings each of them to its end, across restarts. This file only composes; queue, cancelling,
 * recovery and the driving of one run are in `run/`.
 *
 * When the store fails, nothing more is accepted or started: the next start recovers from what is on disk.
 */
import type { Entry } from "../kernel/journal/entry.ts";
import type { RunId } from "../kernel/vocabulary/identifiers.ts";
import { Approvals } from "./approvals/approvals.ts";
import { Capabilities } from "./capabilities/capabilities.ts";
import { type RunStatus, type StoredRun, StoreError } from "./ports/store.ts";
import type { RunDraft } from "./run/accept-run.ts";
import { AcceptedRuns } from "./run/accepted-runs.ts";
import { cancelRun } from "./run/cancel-run.ts";
import { recoverRuns } from "./run/recover-runs.ts";
import { ReplyBatcher } from "./run/reply-batcher.ts";
import { RunBroadcaster, type Watcher } from "./run/run-broadcaster.ts";
import { RunOpener } from "./run/run-opener.ts";
import { type Accepted, RunQueue } from "./run/run-queue.ts";
import type { RunPorts } from "./run-ports.ts";

export interface RuntimeSettings {
  /** Runs that may wait. */
  readonly maxQueued: number;
  /** Runs that may be driven at once. */
  readonly workers: number;
  /** The text of a system prompt, by its id. */
  readonly systemText: (id: string) => string;
  /** What a summarizer of tool outputs is instructed. */
  readonly outputSummaryInstruction: string;
  /** A run has ended, durably. Called for children, too; what listens must not throw. */
  readonly onRunEnded?: (run: StoredRun) => void;
  readonly onApprovalDecided?: () => void;
  /** Durable entries of a run, in order; what listens must not throw. */
  readonly onEntries?: (run: StoredRun, entries: readonly Entry[]) => void;
  /** Called once: nothing more will be accepted, started or performed. */
  readonly onStoreFailure: (error: unknown) => void;
}

export interface Runtime {
  readonly approvals: Approvals;
  readonly capabilities: Capabilities;
  readonly isAccepting: boolean;
  /** A run is being driven or waits for its turn; parked ones aside. */
  readonly isBusy: boolean;
  /** False after the store failed: then only the next start can tell what is stored. */
  readonly isIntact: boolean;
  submit(draft: RunDraft): Promise<Accepted>;
  /** Null when there is no such run. */
  cancel(runId: RunId, by: string): Promise<RunStatus | null>;
  watch(runId: RunId, watcher: Watcher): () => void;
  /** Accepted by this process, with no entry published yet: a watcher that subscribes now gets every entry. */
  isUnpublished(runId: RunId): boolean;
  /** The store reported that it cannot write any more. */
  storeFailed(error: unknown): void;
  /** Resumes every run that was accepted and has not ended. */
  recover(): Promise<{ readonly resumed: number }>;
  /** Waits up to `graceMs` for effects in flight; the next start continues the rest. */
  stop(graceMs: number): Promise<void>;
}

export function openRuntime(ports: RunPorts, settings: RuntimeSettings): Runtime {
  const { store, clock } = ports;
  const broadcaster = new RunBroadcaster();
  const accepted = new AcceptedRuns(ports);
  const approvals = new Approvals(ports, (runId) => {
    queue.wake(runId);
    settings.onApprovalDecided?.();
  });
  const capabilities = new Capabilities(ports);
  let isIntact = true;

  const storeFailed = (error: unknown): void => {
    if (!isIntact) return;
    isIntact = false;
    queue.close();
    approvals.stop();
    broadcaster.close(error);
    settings.onStoreFailure(error);
  };

  /** A failure of the medium stops all runs; any other error concerns this run alone. */
  const runFailed = (runId: RunId, error: unknown): void => {
    if (isMediumFailure(error)) storeFailed(error);
    else ports.onDefect(runId, error);
  };

  const cancel = (runId: RunId, by: string): Promise<RunStatus | null> => cancelRun(store, accepted, queue, runId, by);

  const opener = new RunOpener({
    ...{ ports, accepted, approvals, capabilities, broadcaster },
    replies: new ReplyBatcher(clock),
    systemText: settings.systemText,
    outputSummaryInstruction: settings.outputSummaryInstruction,
    onEntries: settings.onEntries ?? (() => {}),
    children: {
      start: (runId) => queue.resume(runId),
      cancel: (runId, parentRunId) => {
        cancel(runId, `run:${parentRunId}`).catch((error: unknown) => runFailed(runId, error));
      },
    },
    onStoreError: runFailed,
  });

  const queue: RunQueue = new RunQueue({
    ...{ store, clock, accepted, opener },
    get maxQueued() {
      return settings.maxQueued;
    },
    get workers() {
      return settings.workers;
    },
    onEnded: (run) => {
      const { runId, parentRunId } = run;
      approvals.withdraw(runId);
      if (parentRunId !== null) queue.wake(parentRunId);
      settings.onRunEnded?.(run);
    },
    onFailure: runFailed,
    onStoreFailure: storeFailed,
  });

  return {
    approvals,
    capabilities,
    get isAccepting() {
      return queue.isOpen;
    },
    get isBusy() {
      return queue.isBusy;
    },
    get isIntact() {
      return isIntact;
    },
    submit: async (draft) => {
      const submitted = await queue.submit(draft);
      if (submitted.ok) broadcaster.register(submitted.runId);
      return submitted;
    },
    cancel,
    watch: (runId, watcher) => broadcaster.watch(runId, watcher),
    isUnpublished: (runId) => broadcaster.isUnpublished(runId),
    storeFailed,
    recover: async () => {
      const resumed = await recoverRuns(store, queue);
      await approvals.sweep();
      return { resumed };
    },
    stop: async (graceMs) => {
      queue.close();
      approvals.stop();
      const { promise: graceOver, resolve } = Promise.withResolvers<void>();
      const cancelTimer = clock.wake(graceMs, resolve);
      await Promise.race([queue.suspendAll(), graceOver]);
      cancelTimer();
    },
  };
}

/** Nothing can be read or written any more, by any run. */
function isMediumFailure(error: unknown): boolean {
  return error instanceof StoreError && ["store.unavailable", "store.busy", "store.closed"].includes(error.code);
}
