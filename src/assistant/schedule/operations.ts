/** Operations on the scheduler (O-6.2): jobs, what became of their slots, pausing and running by hand. */
import { type Static, Type } from "typebox";
import { USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import { CHANNEL_CLASSES } from "../../kernel/vocabulary/risk.ts";
import { Count, closed, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name, pageFields, pageOf } from "../../runtime/operations/input-schemas.ts";
import { type Caller, operationsOver, refuse } from "../../runtime/operations/operation.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { SLOT_STATUSES, type StoredJob, type StoredSlots } from "../../runtime/ports/stored-job.ts";
import type { Schedule } from "./schedule.ts";

export interface ScheduleServices {
  readonly schedule: Pick<Schedule, "jobs" | "scheduler">;
}

const Text = Type.String();
const JobId = Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$" });

const JobSchema = Type.Object({
  id: Text,
  agent_id: nullable(Text),
  schedule: Text,
  message: nullable(Text),
  enabled: Type.Boolean(),
  last_run: nullable(Text),
  last_run_id: nullable(RunIdSchema),
  /** When its next slot is due, paused or not; null: it has none left. */
  next_run: nullable(Text),
  paused_at: nullable(Text),
  created_at: Text,
  created_by: Text,
  /** The run that made it; null: an operator did. */
  created_by_run: nullable(RunIdSchema),
  channel_class: Type.Enum([...CHANNEL_CLASSES]),
  /** The conversation it answers into; null: one of its own. */
  session_id: nullable(Text),
  /** A call that needs an approval is denied at once. */
  unattended: Type.Boolean(),
  max_spend_usd: nullable(Type.Number()),
  slots: Type.Object({ ran: Count, skipped: Count, missed: Count }),
});
export type WireJob = Static<typeof JobSchema>;

const SlotSchema = Type.Object({
  job_id: Text,
  /** The number of the first of them; a job's slots are numbered from 1. */
  slot: Count,
  /** Slots in a row that ended alike. */
  count: Count,
  due_at: Text,
  /** When the last of them was due. */
  until: Text,
  status: Type.Enum([...SLOT_STATUSES]),
  reason: nullable(Text),
  run_id: nullable(RunIdSchema),
  settled_at: Text,
});
export type WireSlot = Static<typeof SlotSchema>;

const { json } = operationsOver<ScheduleServices>();

export const scheduleOperations = [
  json({
    name: "schedule.list",
    method: "GET",
    path: "/api/admin/scheduler/jobs",
    scope: "admin",
    summary: "lists the jobs of the scheduler, and whether all of them are paused",
    hasEtag: true,
    input: Type.Object(pageFields, closed),
    output: Type.Object({ jobs: Type.Array(JobSchema), paused: Type.Boolean() }),
    async call({ schedule }, input) {
      const jobs = await schedule.jobs();
      const listed = await jobs.list(pageOf(input));
      return { ok: true, value: { jobs: listed.map(wireJob), paused: (await jobs.pausedAtMs()) !== null } };
    },
  }),
  json({
    name: "schedule.add",
    method: "POST",
    path: "/api/admin/scheduler/jobs",
    scope: "admin",
    summary:
      "adds a job: `@every` with a Go duration (10s to 366 days), or one time in RFC 3339; without agent or message it is kept and its slots are skipped",
    input: Type.Object(
      {
        id: Type.Optional(JobId),
        agent_id: Type.Optional(Name),
        schedule: Text,
        message: Type.Optional(Text),
        enabled: Type.Optional(Type.Boolean({ default: true })),
        unattended: Type.Optional(Type.Boolean({ default: false })),
        max_spend_usd: Type.Optional(Type.Number({ minimum: 0, maximum: 1_000_000 })),
      },
      closed,
    ),
    output: JobSchema,
    async call({ schedule }, { id = null, agent_id = null, message = null, enabled = true, ...input }, caller) {
      const jobs = await schedule.jobs();
      const { unattended = false, max_spend_usd: maxSpendUsd = null } = input;
      const added = await jobs.add(
        { id, agentId: agent_id, schedule: input.schedule, message, enabled },
        { ...operatorsOrigin(caller), isUnattended: unattended ? true : null, maxSpendUsd },
      );
      return added.ok ? { ok: true, value: wireJob(added.value) } : added;
    },
  }),
  json({
    name: "schedule.remove",
    method: "DELETE",
    path: "/api/admin/scheduler/jobs/{id}",
    scope: "admin",
    summary: "removes a job; a run that it started goes on",
    input: Type.Object({ id: JobId }, closed),
    output: Type.Object({ id: Text }),
    call: async ({ schedule }, { id }, { principal }) => (await schedule.jobs()).remove(id, principal),
  }),
  json({
    name: "schedule.control",
    method: "POST",
    path: "/api/admin/scheduler/control",
    scope: "admin",
    summary: "pauses or resumes one job, or with no `job_id` all of them; what falls due meanwhile is skipped",
    input: Type.Object({ action: Type.Enum(["pause", "resume"]), job_id: Type.Optional(JobId) }, closed),
    output: Type.Object({ paused: Type.Boolean(), job: nullable(JobSchema) }),
    async call({ schedule }, { action, job_id = null }, { principal }) {
      const jobs = await schedule.jobs();
      const done = await jobs[action](job_id, principal);
      if (!done.ok) return done;
      const found = job_id === null ? null : await jobs.find(job_id);
      const job = found?.ok ? wireJob(found.value) : null;
      return { ok: true, value: { paused: (await jobs.pausedAtMs()) !== null, job } };
    },
  }),
  json({
    name: "schedule.run",
    method: "POST",
    path: "/api/admin/scheduler/jobs/{id}/run",
    scope: "admin",
    summary: "runs a job now, besides its schedule",
    status: 202,
    input: Type.Object({ id: JobId }, closed),
    output: Type.Object({ run_id: RunIdSchema, session_id: Text }),
    async call({ schedule }, { id }) {
      const begun = await (await schedule.scheduler()).runNow(id);
      if (!begun.ok) return begun;
      return { ok: true, value: { run_id: begun.value.runId, session_id: begun.value.sessionId } };
    },
  }),
  json({
    name: "schedule.slots",
    method: "GET",
    path: "/api/admin/scheduler/slots",
    scope: "admin",
    summary:
      "lists what became of slots, of one job (`?job_id=`) or of all, newest first: ran, skipped (why) or missed",
    hasEtag: true,
    input: Type.Object({ job_id: Type.Optional(JobId), ...pageFields }, closed),
    output: Type.Object({ slots: Type.Array(SlotSchema) }),
    async call({ schedule }, { job_id = null, ...page }) {
      const jobs = await schedule.jobs();
      if (job_id !== null && !(await jobs.find(job_id)).ok) return refuse("not_found", "there is no such job");
      return { ok: true, value: { slots: (await jobs.slots(job_id, pageOf(page))).map(wireSlot) } };
    },
  }),
] as const;

function operatorsOrigin({ principal, source }: Caller) {
  return {
    ...({ principal, channel: source, channelClass: "cli_local", labels: USER_LABELS } as const),
    ...{ runId: null, sessionId: null, reply: null },
  };
}

function wireJob({ record, terms, dueMs, pausedAtMs, lastRunId, counts }: StoredJob): WireJob {
  return {
    id: record.id,
    agent_id: record.agentID,
    schedule: record.schedule,
    message: record.message,
    enabled: record.enabled,
    last_run: record.lastRun,
    last_run_id: lastRunId,
    next_run: dueMs === null ? null : timestampOf(dueMs),
    paused_at: pausedAtMs === null ? null : timestampOf(pausedAtMs),
    created_at: terms.createdAt,
    created_by: terms.principal,
    created_by_run: terms.runId,
    channel_class: terms.channelClass,
    session_id: terms.sessionId,
    unattended: terms.isUnattended === true,
    max_spend_usd: terms.maxSpendUsd,
    slots: counts,
  };
}

function wireSlot({ jobId, slot, count, firstMs, lastMs, status, reason, runId, settledAtMs }: StoredSlots) {
  return {
    ...{ job_id: jobId, slot, count, due_at: timestampOf(firstMs), until: timestampOf(lastMs) },
    ...{ status, reason, run_id: runId, settled_at: timestampOf(settledAtMs) },
  };
}
