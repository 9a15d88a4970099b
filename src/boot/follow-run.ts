/**
 * Follows a run to its end, over the operations of a home.
 *
 * F1. A run's state is read from its record; events only say what happened meanwhile.
 * F2. Who is patient outlasts a gateway that is away: once it is back, the run is followed from the last event seen.
 */
import { setTimeout as pause } from "node:timers/promises";
import { GatewayClientError } from "../adapters/gateway-client/gateway-client-error.ts";
import type { ProgressPrinter } from "../adapters/terminal/progress-printer.ts";
import type { OperationClient } from "../assistant/operations.ts";
import type { RunUpdate } from "../assistant/runs/run-updates.ts";
import type { RunRecord } from "../kernel/journal/views/run-record.ts";
import { type ApprovalId, asApprovalId, type RunId } from "../kernel/vocabulary/identifiers.ts";
import { cardFromWire } from "../runtime/approvals/operations.ts";
import type { Approver } from "../runtime/ports/approver.ts";
import { allPages } from "./commands/all-pages.ts";
import { valueIn } from "./connect-assistant.ts";
import { systemClock } from "./system-clock.ts";

export type ShownQuestions = Pick<Approver, "ask" | "withdraw">;

export interface Followed {
  readonly operations: OperationClient;
  readonly id: RunId;
  readonly printer: ProgressPrinter;
  readonly questions: ShownQuestions;
  /** Patient until it aborts; null: a lost gateway is the end. */
  readonly leaving: AbortSignal | null;
  readonly onConnection: (state: "lost" | "back") => void;
  /** Resolves once the state after a return has been shown: updates wait for it. */
  readonly caughtUp: () => Promise<void>;
}

/** Returns the record: of the ended run, or as it was when the watcher left. */
export async function followRun(followed: Followed): Promise<RunRecord> {
  const { operations, id, leaving, onConnection } = followed;
  const progress = { seq: 0 };
  for (;;) {
    try {
      await followUpdates(followed, progress);
      return await recordOf(operations, id);
    } catch (error) {
      if (leaving === null || !isAway(error)) throw error;
      onConnection("lost");
      const isBack = await untilBack(operations, id, leaving);
      if (!isBack) throw error;
      onConnection("back");
    }
  }
}

async function followUpdates(
  { operations, id, printer, questions: { withdraw }, leaving, caughtUp }: Followed,
  progress: { seq: number },
): Promise<void> {
  const signal = leaving ?? new AbortController().signal;
  const subscription = await operations.subscribe("runs.events", { id }, String(progress.seq), signal);
  const hasBegun = announceQueued(operations, id, printer);
  try {
    const updates: AsyncIterable<RunUpdate> | readonly RunUpdate[] = subscription.ok ? subscription.updates : [];
    for await (const update of updates) {
      hasBegun();
      await caughtUp();
      if (update.kind === "event") progress.seq = update.event.seq;
      const answered = approvalIn(update);
      if (answered !== null) withdraw(answered);
      printer.show(update);
    }
  } finally {
    hasBegun();
  }
}

export async function recordOf(operations: OperationClient, id: RunId): Promise<RunRecord> {
  return valueIn(await operations.call("runs.get", { id }), () => "See surety verify --home.");
}

/** The gateway died, or is being restarted. */
export function isAway(error: unknown): boolean {
  return error instanceof GatewayClientError && ["gateway.lost", "gateway.unreachable"].includes(error.code);
}

const KNOCK_MS = 1_000;

/** False: the watcher left. */
async function untilBack(operations: OperationClient, id: RunId, leaving: AbortSignal): Promise<boolean> {
  for (;;) {
    await pause(KNOCK_MS, undefined, { signal: leaving }).catch(() => {});
    if (leaving.aborted) return false;
    const isBack = await operations.call("runs.get", { id }).then(
      () => true,
      (error: unknown) => {
        if (isAway(error)) return false;
        throw error;
      },
    );
    if (isBack) return true;
  }
}

/** The question that was answered before this call. */
function approvalIn(update: RunUpdate): ApprovalId | null {
  if (update.kind !== "event" || update.event.event_type !== "tool.call") return null;
  const { approval } = update.event.payload;
  return approval === null ? null : asApprovalId(approval.id);
}

/** Most runs begin within this time: then nothing is said about the queue. */
const BEGINS_WITHIN_MS = 300;

/** Says that the run is queued, unless the returned function is called first. */
function announceQueued(operations: OperationClient, id: RunId, printer: ProgressPrinter): () => void {
  let isWaiting = true;
  const look = async (): Promise<void> => {
    const record = await operations.call("runs.get", { id });
    if (isWaiting && record.ok && record.value.status === "queued") printer.showQueued(id);
  };
  // A lost gateway is reported by `followRun`.
  const cancel = systemClock.wake(BEGINS_WITHIN_MS, () => look().catch(() => {}));
  return () => {
    isWaiting = false;
    cancel();
  };
}

const POLL_MS = 300;

/** Beside a gateway: asks this terminal what the gateway holds for this run, and takes back what was answered elsewhere. */
export function pollApprovals(
  operations: OperationClient,
  runId: RunId,
  { ask, withdraw }: ShownQuestions,
  undelivered: Set<ApprovalId>,
): { stop(): void; withdrawAll(): void } {
  let asked: ReadonlySet<ApprovalId> = new Set();
  let isOver = false;
  const poll = async (): Promise<void> => {
    const all = await allPages(
      async (page) => valueIn(await operations.call("approvals.list", page), () => "").approvals,
    );
    if (isOver) return;
    const pending = all.filter(({ run_id }) => run_id === runId);
    const ids = new Set(pending.map(({ id }) => id));
    for (const id of asked) if (!ids.has(id)) withdraw(id);
    for (const card of pending) if (undelivered.delete(card.id) || !asked.has(card.id)) ask(cardFromWire(card));
    asked = ids;
  };
  // A lost gateway is reported by `followRun`.
  const pollSafely = (): void => {
    poll()
      .catch(() => {})
      .finally(() => {
        if (!isOver) systemClock.wake(POLL_MS, pollSafely);
      });
  };
  pollSafely();
  return {
    stop: () => {
      isOver = true;
    },
    withdrawAll: () => {
      for (const id of asked) withdraw(id);
    },
  };
}
