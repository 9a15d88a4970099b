/**
 * Jobs: made, listed, paused and removed, by operators and by runs (O-4). What one may do is fixed when it is made: the channel
 * class and the labels of its maker pass to every one of its runs, and no later text changes them.
 *
 * A job's id is never taken over: a second job of that id is refused, so a run replaces nothing that an operator made.
 */

import type { Redactor } from "../../kernel/redaction/redact.ts";
import { firstSlot, heldSlots } from "../../kernel/schedule/due-slots.ts";
import { type ParsedSchedule, parseSchedule } from "../../kernel/schedule/parse-schedule.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { joinLabels, type Labels } from "../../kernel/vocabulary/labels.ts";
import { type Result, refuse } from "../../runtime/operations/operation.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import { type Page, type Store, StoreError } from "../../runtime/ports/store.ts";
import type { JobTerms, SettledSlots, StoredJob, StoredSlots } from "../../runtime/ports/stored-job.ts";
import { readAcceptance } from "../../runtime/run/acceptance.ts";
import { contractOf } from "../../runtime/run/read-run.ts";
import { messageProblem } from "../runs/check-request.ts";
import { formatLocal } from "./local-time.ts";

const PAGE = 500;
const PAUSED = "paused";
export const NOT_CHECKED = "the gateway was not running, or its clock jumped";

export interface JobsParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
  readonly redactor: Pick<Redactor, "redactText">;
  readonly maxJobs: () => number;
  /** In which times of day are read and said. */
  readonly timeZone: () => string;
  /** Another slot may be the next one. */
  readonly onChange: () => void;
}

export interface JobRequest {
  readonly id: string | null;
  readonly agentId: string | null;
  readonly schedule: string;
  readonly message: string | null;
  readonly enabled: boolean;
}

export type JobOrigin = Omit<JobTerms, "createdAt">;

export interface AskedJob {
  readonly id: string;
  readonly schedule: string;
  readonly message: string;
  /** The labels of the context that wrote the message. */
  readonly seen: Labels;
  readonly mayAct: boolean;
}

type Asker = Omit<JobOrigin, "maxSpendUsd"> & { readonly agentId: string; readonly isLocal: boolean };

export class Jobs {
  readonly #parts: JobsParts;

  constructor(parts: JobsParts) {
    this.#parts = parts;
  }

  parse(schedule: string): ParsedSchedule {
    return parseSchedule(schedule);
  }

  async add(request: JobRequest, origin: JobOrigin): Promise<Result<StoredJob>> {
    const { store, clock, random, redactor, maxJobs, onChange } = this.#parts;
    const { agentId, enabled } = request;
    const id = request.id ?? newId("job", random);
    if ((await store.findJob(id)) !== null) return taken(id);
    const parsed = parseSchedule(request.schedule);
    if (!parsed.ok) return refuse("invalid.request", `schedule: ${parsed.message}`);
    const message = emptyAsNull(request.message);
    const problem = message === null ? null : messageProblem(message);
    if (problem !== null) return problem;
    const { schedule, text } = parsed;
    const nowMs = clock.nowMs();
    const job = {
      record: {
        id,
        agentID: emptyAsNull(agentId),
        schedule: text,
        message: message === null ? null : redactor.redactText(message).text,
        enabled,
        lastRun: null,
      },
      terms: { ...origin, createdAt: timestampOf(nowMs) },
      dueMs: firstSlot(schedule, nowMs),
      everyMs: schedule.kind === "every" ? schedule.everyMs : null,
    };
    try {
      await store.commit([{ type: "add-job", job, maxJobs: maxJobs() }], "barrier");
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.conflict")) throw error;
      return (await store.findJob(id)) === null
        ? refuse("conflict", `there are ${maxJobs()} jobs, as many as scheduler.maxJobs allows: remove one`)
        : taken(id);
    }
    onChange();
    return await this.find(id);
  }

  async find(id: string): Promise<Result<StoredJob>> {
    const job = await this.#parts.store.findJob(id);
    return job === null ? NO_SUCH_JOB : { ok: true, value: job };
  }

  /** For a run, on behalf of the person it works for; the same call makes one job, however often it is made. */
  async addFor(runId: RunId, asked: AskedJob): Promise<Result<StoredJob>> {
    const { store } = this.#parts;
    const { id, schedule, message, seen, mayAct } = asked;
    const made = await store.findJob(id);
    if (made !== null) return { ok: true, value: made };
    if (!mayAct) return refuse("conflict", "the plan has changed since it was decided: call it again");
    const asker = await this.#askerOf(runId);
    if (asker === null) return refuse("not_found", "no such run");
    const { agentId, isLocal: _, ...origin } = asker;
    return await this.add(
      { id, agentId, schedule, message, enabled: true },
      { ...origin, labels: joinLabels(seen, origin.labels), maxSpendUsd: null },
    );
  }

  /** What a run may see: the person at this machine all of them, others their own. */
  async listFor(runId: RunId, page: Page): Promise<readonly StoredJob[]> {
    const asker = await this.#askerOf(runId);
    if (asker === null) return [];
    const jobs = await this.list(page);
    return asker.isLocal ? jobs : jobs.filter(({ terms }) => terms.principal === asker.principal);
  }

  async removeFor(runId: RunId, jobId: string, mayAct: boolean): Promise<Result<{ readonly id: string }>> {
    const job = await this.#parts.store.findJob(jobId);
    // A repeated call: it is gone already.
    if (job === null) return { ok: true, value: { id: jobId } };
    const asker = await this.#askerOf(runId);
    if (asker === null || !(asker.isLocal || job.terms.principal === asker.principal)) return NO_SUCH_JOB;
    if (!mayAct) return refuse("conflict", "the plan has changed since it was decided: call it again");
    return await this.remove(jobId, asker.principal);
  }

  get timeZone(): string {
    return this.#parts.timeZone();
  }

  /** In the user's time zone; null: now. */
  localTime(atMs: number | null): string {
    return formatLocal(atMs ?? this.#parts.clock.nowMs(), this.timeZone);
  }

  /** Whom a run works for: of a delegated one, the run that a person began. */
  async #askerOf(runId: RunId): Promise<Asker | null> {
    const { store } = this.#parts;
    const run = await store.findRun(runId);
    if (run === null) return null;
    if (run.parentRunId !== null) return await this.#askerOf(run.parentRunId);
    const session = await store.findSession(run.sessionId);
    const { event, isUnattended, reply } = readAcceptance(run.accepted);
    const { channelClass } = contractOf(run);
    return {
      ...{ agentId: run.agentId, principal: event.principal, channel: session?.channel ?? run.source, channelClass },
      ...{ labels: event.labels, runId, sessionId: run.sessionId, reply: reply ?? null },
      isUnattended: isUnattended ?? null,
      isLocal: channelClass === "cli_local",
    };
  }

  list(page: Page): Promise<readonly StoredJob[]> {
    return this.#parts.store.listJobs(page);
  }

  slots(jobId: string | null, page: Page): Promise<readonly StoredSlots[]> {
    return this.#parts.store.listSlots(jobId, page);
  }

  pausedAtMs(): Promise<number | null> {
    return this.#parts.store.schedulePausedAtMs();
  }

  async remove(jobId: string, by: string): Promise<Result<{ readonly id: string }>> {
    const { store, clock, onChange } = this.#parts;
    if ((await store.findJob(jobId)) === null) return NO_SUCH_JOB;
    await store.commit([{ type: "remove-job", jobId, by, atMs: clock.nowMs() }], "barrier");
    onChange();
    return { ok: true, value: { id: jobId } };
  }

  async pause(jobId: string | null, by: string): Promise<Result<null>> {
    const { store, clock, onChange } = this.#parts;
    const atMs = clock.nowMs();
    if (jobId === null) await store.commit([{ type: "pause-schedule", isPaused: true, by, atMs }], "barrier");
    else {
      const job = await store.findJob(jobId);
      if (job === null) return NO_SUCH_JOB;
      if (job.dueMs === null) return HAS_ENDED;
      const allSinceMs = job.pausedAtMs === null ? await store.schedulePausedAtMs() : null;
      const settle = allSinceMs === null ? [] : settleHeld(job, allSinceMs, atMs);
      await store.commit([...settle, { type: "pause-job", jobId, isPaused: true, by, atMs }], "barrier");
    }
    onChange();
    return { ok: true, value: null };
  }

  /** What was due meanwhile is settled first: skipped, because it was paused. */
  async resume(jobId: string | null, by: string): Promise<Result<null>> {
    const { store, clock, onChange } = this.#parts;
    const atMs = clock.nowMs();
    const allSinceMs = await store.schedulePausedAtMs();
    if (jobId === null) {
      if (allSinceMs !== null) await this.#settleAllHeld(allSinceMs, atMs);
      await store.commit([{ type: "pause-schedule", isPaused: false, by, atMs }], "barrier");
    } else {
      const job = await store.findJob(jobId);
      if (job === null) return NO_SUCH_JOB;
      if (job.dueMs === null) return HAS_ENDED;
      const settle = job.pausedAtMs === null ? [] : settleHeld(job, job.pausedAtMs, atMs);
      await store.commit([...settle, { type: "pause-job", jobId, isPaused: false, by, atMs }], "barrier");
    }
    onChange();
    return { ok: true, value: null };
  }

  /** Every job, since a resumption is rare and one-shots stay due. */
  async #settleAllHeld(sinceMs: number, nowMs: number): Promise<void> {
    const { store } = this.#parts;
    for (let offset = 0; ; offset += PAGE) {
      const jobs = await store.listJobs({ limit: PAGE, offset });
      const held = jobs.filter(({ pausedAtMs, dueMs }) => pausedAtMs === null && dueMs !== null && dueMs <= nowMs);
      const writes = held.flatMap((job) => settleHeld(job, sinceMs, nowMs));
      if (writes.length > 0) await store.commit(writes, "barrier");
      if (jobs.length < PAGE) return;
    }
  }
}

function settleHeld({ record, dueMs, slot }: StoredJob, sinceMs: number, atMs: number) {
  const parsed = parseSchedule(record.schedule);
  if (!parsed.ok || dueMs === null) return [];
  const { missed, skipped, nextMs } = heldSlots(parsed.schedule, dueMs, sinceMs, atMs);
  if (nextMs === dueMs) return [];
  const settled: readonly SettledSlots[] = [
    ...(missed === null ? [] : [{ ...missed, status: "missed", reason: NOT_CHECKED, runId: null } as const]),
    ...(skipped === null ? [] : [{ ...skipped, status: "skipped", reason: PAUSED, runId: null } as const]),
  ];
  return [{ type: "settle-slots", jobId: record.id, slot, settled, nextMs, atMs } as const];
}

const NO_SUCH_JOB = refuse("not_found", "there is no such job: surety schedule ls lists them");
const HAS_ENDED = refuse("conflict", "this job has run and has no slot left: add a new one");

function taken(id: string) {
  return refuse("conflict", `there is a job ${id}: remove it first, or leave the id out`);
}

function emptyAsNull(text: string | null): string | null {
  return text === null || text.trim() === "" ? null : text;
}
