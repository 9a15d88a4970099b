/**
 * Scheduler settles slots when they are due (O-4.3, X-11): one timer for the next slot of all jobs, none without jobs.
 *
 * S1. A slot is claimed in the transaction that accepts its run. So it ends once, whatever is killed when.
 * S2. A check looks at the jobs that are due and at no others; each runs at most once.
 * S3. What cannot be accepted now, because the queue is full or the store refuses, stays due and is tried again.
 * S4. The timer wakes at least every LONGEST_WAIT_MS, since the clock may have been set and the machine may have slept; it
 *     reads nothing unless a slot is due or the clock went back.
 */
import { dueSlots } from "../../kernel/schedule/due-slots.ts";
import { parseSchedule } from "../../kernel/schedule/parse-schedule.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { type Result, refuse } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { type Store, StoreError, type Write } from "../../runtime/ports/store.ts";
import type { SettledSlots, StoredJob } from "../../runtime/ports/stored-job.ts";
import type { Assistant, Submission } from "../runs/open-assistant.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { agentIdOf } from "../sessions/agent-id-of.ts";
import { sessionKey } from "../sessions/session-key.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { NOT_CHECKED } from "./jobs.ts";

export interface SchedulerParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly assistant: Pick<Assistant, "submit">;
  readonly sessions: Pick<Sessions, "find" | "findByKey" | "draft">;
  /** Whether a sender on a channel may still reach the assistant. */
  readonly isAccepted: (channel: string, senderId: string) => Promise<boolean>;
  readonly onDefect: (error: unknown) => void;
}

const LONGEST_WAIT_MS = 60_000;
const RETRY_MS = 2_000;
const PAGE = 50;
const JUMP_MS = 1_000;
const MICROUSD_PER_USD = 1_000_000;

export class Scheduler {
  readonly #parts: SchedulerParts;
  #cancelTimer = (): void => {};
  #isOpen = false;
  /** A check is under way; `again`: something changed meanwhile. */
  #checking: { again: boolean; readonly ended: Promise<void> } | null = null;
  /** Both clocks at the last look, to notice that one of them was set. */
  #seen = { wallMs: 0, monotonicMs: 0 };
  #nextMs: number | null = null;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
  }

  /** What fell due before is settled now. */
  start(): void {
    this.#isOpen = true;
    this.#seen = { wallMs: Number.POSITIVE_INFINITY, monotonicMs: this.#parts.clock.monotonicMs() };
    this.changed();
  }

  /** Another slot may be the next one. */
  changed(): void {
    if (!this.#isOpen) return;
    if (this.#checking !== null) {
      this.#checking.again = true;
      return;
    }
    this.#cancelTimer();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const checking = { again: false, ended };
    this.#checking = checking;
    this.#check()
      .catch((error: unknown) => {
        // A failing store is the runtime's to report; the next start begins from what is stored.
        if (!(error instanceof StoreError)) this.#parts.onDefect(error);
        return RETRY_MS;
      })
      .then((waitMs) => {
        this.#checking = null;
        resolve();
        if (checking.again) this.changed();
        else if (waitMs !== null) this.#arm(waitMs);
      });
  }

  async stop(): Promise<void> {
    this.#isOpen = false;
    this.#cancelTimer();
    await this.#checking?.ended;
  }

  /** Runs a job by hand: no slot of its schedule. */
  async runNow(jobId: string): Promise<Result<Extract<Submission, { ok: true }>>> {
    const { store, clock } = this.#parts;
    const job = await store.findJob(jobId);
    if (job === null) return refuse("not_found", "there is no such job: surety schedule ls lists them");
    const reason = await this.#whyNot(job);
    if (reason !== null) return refuse("conflict", `it cannot run: ${reason}`);
    const submitted = await this.#submit(job, (runId) => [{ type: "note-job-run", jobId, runId, atMs: clock.nowMs() }]);
    return submitted.ok ? { ok: true, value: submitted } : submitted;
  }

  #arm(waitMs: number): void {
    if (!this.#isOpen) return;
    this.#cancelTimer();
    this.#cancelTimer = this.#parts.clock.wake(Math.min(Math.max(0, waitMs), LONGEST_WAIT_MS), () => this.#woken());
  }

  #woken(): void {
    const nowMs = this.#parts.clock.nowMs();
    const restMs = (this.#nextMs ?? nowMs) - nowMs;
    if (restMs <= 0 || this.#wentBack()) this.changed();
    else this.#arm(restMs);
  }

  /** How long to wait for the next slot; null: there is none. */
  async #check(): Promise<number | null> {
    const { store, clock } = this.#parts;
    const wentBack = this.#wentBack();
    this.#seen = { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    if ((await store.schedulePausedAtMs()) !== null) return null;
    this.#nextMs = await store.nextDueMs();
    if (this.#nextMs === null) return null;
    if (wentBack) await this.#planAgain();
    const isRefused = await this.#settleDue();
    this.#nextMs = await store.nextDueMs();
    if (this.#nextMs === null) return null;
    const waitMs = this.#nextMs - clock.nowMs();
    return isRefused ? Math.max(waitMs, RETRY_MS) : waitMs;
  }

  /** The wall clock shows less time gone by than the monotonic one; at a start that is not known. */
  #wentBack(): boolean {
    const { clock } = this.#parts;
    const { wallMs, monotonicMs } = this.#seen;
    return clock.nowMs() - wallMs < clock.monotonicMs() - monotonicMs - JUMP_MS;
  }

  async #planAgain(): Promise<void> {
    const { store, clock } = this.#parts;
    for (;;) {
      const nowMs = clock.nowMs();
      const jobs = await store.misplannedJobs(nowMs, PAGE);
      for (const job of jobs) if (this.#isOpen) await this.#settle(job, nowMs);
      if (jobs.length < PAGE || !this.#isOpen) return;
    }
  }

  /** True when something stays due because it was refused for now. */
  async #settleDue(): Promise<boolean> {
    const { store, clock } = this.#parts;
    for (;;) {
      const nowMs = clock.nowMs();
      const due = await store.dueJobs(nowMs, PAGE);
      for (const job of due) {
        if (!this.#isOpen) return false;
        if (!(await this.#settle(job, nowMs))) return true;
      }
      if (due.length < PAGE) return false;
    }
  }

  /** False: refused for now. */
  async #settle(job: StoredJob, nowMs: number): Promise<boolean> {
    const { record, dueMs, slot } = job;
    if (dueMs === null) return true;
    const parsed = parseSchedule(record.schedule);
    const once = { kind: "once", atMs: dueMs } as const;
    const { missed, turnMs, nextMs } = dueSlots(parsed.ok ? parsed.schedule : once, dueMs, nowMs);
    const before = missed === null ? [] : [{ ...missed, status: "missed", reason: NOT_CHECKED, runId: null } as const];
    const settling = (settled: readonly SettledSlots[]): Write => {
      return { type: "settle-slots", jobId: record.id, slot, settled: [...before, ...settled], nextMs, atMs: nowMs };
    };
    if (turnMs === null) return await this.#commit(settling([]));
    const turn = { count: 1, firstMs: turnMs, lastMs: turnMs };
    const skip = (reason: string): Promise<boolean> =>
      this.#commit(settling([{ ...turn, status: "skipped", reason, runId: null }]));
    const reason = await this.#whyNot(job);
    if (reason !== null) return await skip(reason);
    const submitted = await this.#submit(job, (runId) => [settling([{ ...turn, status: "ran", reason: null, runId }])]);
    // A conflict: the job was paused, removed or settled meanwhile; what is stored by now counts.
    if (submitted.ok || submitted.code === "conflict") return true;
    if (submitted.code === "queue.full" || submitted.code === "store.unavailable") return false;
    return await skip(submitted.message);
  }

  async #commit(write: Write): Promise<boolean> {
    try {
      await this.#parts.store.commit([write], "barrier");
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.conflict")) throw error;
    }
    return true;
  }

  /** Null: it may run. */
  async #whyNot({ record, terms, lastRunId, isForged }: StoredJob): Promise<string | null> {
    const { store, isAccepted } = this.#parts;
    if (isForged) return "it was changed outside of surety; run surety verify --home";
    if (record.agentID === null) return "it has no agent";
    if (record.message === null) return "it has no message";
    const last = lastRunId === null ? null : await store.findRun(lastRunId);
    if (last !== null && last.outcome === null) return "its previous run has not ended";
    if (terms.reply === null) return null;
    const sender = terms.principal.slice(terms.channel.length + 1);
    return (await isAccepted(terms.channel, sender)) ? null : "its sender is not accepted any more";
  }

  async #submit(job: StoredJob, also: (runId: RunId) => readonly Write[]): Promise<Submission> {
    const { record, terms } = job;
    const request: RunRequest = {
      agentId: agentOf(job),
      message: record.message ?? "",
      ...(await this.#place(job)),
      model: null,
      thinkingMode: null,
      contract:
        terms.maxSpendUsd === null ? {} : { maxSpendMicrousd: Math.round(terms.maxSpendUsd * MICROUSD_PER_USD) },
      approvedTools: [],
      ...(terms.isUnattended === null ? {} : { isUnattended: true }),
      channelClass: terms.channelClass,
      ...(terms.reply === null ? {} : { reply: terms.reply }),
      labels: terms.labels,
      source: `job:${record.id}`,
      principal: terms.principal,
      idempotencyKey: null,
    };
    return await this.#parts.assistant.submit(request, also);
  }

  /** The conversation it was made in, as that goes on by now; otherwise one of its own. */
  async #place(job: StoredJob): Promise<Pick<RunRequest, "sessionId" | "begins">> {
    const { sessions } = this.#parts;
    const { record, terms } = job;
    const agentId = agentOf(job);
    const made = terms.sessionId === null ? null : await sessions.find(terms.sessionId);
    if (made !== null && !made.isForged && made.agentId === agentId) {
      return { sessionId: (await sessions.findByKey(made.key))?.sessionId ?? made.sessionId };
    }
    const { channel, principal: senderId } = terms;
    const key = sessionKey({ agentId, channel, kind: "job", peer: record.id });
    const own = await sessions.findByKey(key);
    if (own !== null) return { sessionId: own.sessionId };
    return {
      sessionId: null,
      begins: { session: sessions.draft({ agentId, key, channel, senderId }), isRouted: true },
    };
  }
}

/** Only of a job that has one. */
function agentOf({ record }: StoredJob): string {
  return agentIdOf(record.agentID ?? undefined);
}
