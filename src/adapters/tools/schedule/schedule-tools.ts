/**
 * The schedule tools: jobs that the assistant makes for itself (O-4). A job inherits what its run may do and what it has
 * seen; making and removing one asks, since it acts later, when no one may be looking.
 */
import { Type } from "typebox";
import type { Jobs } from "../../../assistant/schedule/jobs.ts";
import { asRunId } from "../../../kernel/vocabulary/identifiers.ts";
import { joinLabels, type Labels, USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { Result } from "../../../runtime/operations/operation.ts";
import { defineTool, fieldOf, type Tool } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";

/** Loaded with the first call; absent from tools that are only described. */
export type LoadJobs = () => Promise<Jobs>;

const closed = { additionalProperties: false } as const;
const SHOWN_JOBS = 50;

export function scheduleTools(jobs: LoadJobs): readonly Tool[] {
  return [addTool(jobs), listTool(jobs), removeTool(jobs)];
}

function addTool(load: LoadJobs) {
  return defineTool({
    name: "schedule.add",
    description: "Send yourself a message later, once or again and again.",
    parameters: Type.Object(
      {
        schedule: Type.String({
          description: '"@every 1h30m" or a time such as 2026-02-18T09:00:00+01:00 (schedule.list tells it)',
        }),
        message: Type.String({ minLength: 1 }),
      },
      closed,
    ),
    risk: "side_effect",
    idempotency: "keyed",
    async plan({ schedule, message }) {
      const parsed = (await load()).parse(schedule);
      if (!parsed.ok) throw new ToolFailure("tool.input_invalid", `schedule: ${parsed.message}`);
      return {
        labels: USER_LABELS,
        shown: `Let the assistant run by itself, ${parsed.text}, with this message:\n${message}`,
        reversal: { kind: "reversible", how: "surety schedule rm removes the job; what it has done stays done" },
      };
    },
    async run({ args: { schedule, message } }, { runId, idempotencyKey, seen, mayAct }) {
      const id = `job_${(idempotencyKey ?? "").slice(0, 24)}`;
      const added = await (await load()).addFor(asRunId(runId), { id, schedule, message, seen, mayAct });
      const { record, dueMs } = valueIn(added);
      return { id: record.id, schedule: record.schedule, next_run: (await load()).localTime(dueMs) };
    },
    summarize: ({ args }) => `scheduled ${fieldOf(args, "schedule") ?? "a job"}`,
  });
}

function listTool(load: LoadJobs) {
  return defineTool({
    name: "schedule.list",
    description: "List the scheduled jobs, the time now and the time zone.",
    parameters: Type.Object({}, closed),
    risk: "read_only",
    idempotency: "read_only",
    volatileFields: ["now"],
    async plan() {
      const listed = await (await load()).list({ limit: SHOWN_JOBS, offset: 0 });
      const labels = listed.reduce<Labels>((joined, { terms }) => joinLabels(joined, terms.labels), USER_LABELS);
      return { labels, shown: "List the scheduled jobs", reversal: { kind: "reversible", how: "it changes nothing" } };
    },
    async run({ labels }, { runId }) {
      const jobs = await load();
      const listed = await jobs.listFor(asRunId(runId), { limit: SHOWN_JOBS, offset: 0 });
      // One that was made since the plan may carry other labels than the result.
      const shown = listed.filter(({ terms }) => isWithin(terms.labels, labels));
      return {
        now: jobs.localTime(null),
        time_zone: jobs.timeZone,
        jobs: shown.map(({ record, dueMs }) => ({
          ...{ id: record.id, schedule: record.schedule, message: record.message, enabled: record.enabled },
          next_run: dueMs === null ? null : jobs.localTime(dueMs),
        })),
      };
    },
    summarize: () => "listed the jobs",
  });
}

function removeTool(load: LoadJobs) {
  return defineTool({
    name: "schedule.remove",
    description: "Remove a scheduled job.",
    parameters: Type.Object({ id: Type.String() }, closed),
    risk: "side_effect",
    idempotency: "keyed",
    async plan({ id }) {
      const { record } = valueIn(await (await load()).find(id));
      return {
        labels: USER_LABELS,
        shown: `Remove the job ${id}, ${record.schedule}:\n${record.message ?? ""}`,
        reversal: { kind: "reversible", how: "it can be added again; what became of its slots stays in the ledger" },
      };
    },
    async run({ args: { id } }, { runId, mayAct }) {
      return valueIn(await (await load()).removeFor(asRunId(runId), id, mayAct));
    },
    summarize: ({ args }) => `removed ${fieldOf(args, "id") ?? "a job"}`,
  });
}

function isWithin(labels: Labels, bound: Labels): boolean {
  const joined = joinLabels(labels, bound);
  return joined.integrity === bound.integrity && joined.confidentiality === bound.confidentiality;
}

function valueIn<Value>(result: Result<Value>): Value {
  if (result.ok) return result.value;
  throw new ToolFailure(result.code === "not_found" ? "invalid.request" : codeOf(result.code), result.message);
}

function codeOf(code: string): "invalid.request" | "internal.error" {
  return code === "internal.error" || code === "store.unavailable" ? "internal.error" : "invalid.request";
}
