/** `surety schedule ls|add|rm|pause|resume|run`: jobs, which run by themselves at their times (O-4). */

import type { OperationClient } from "../../assistant/operations.ts";
import type { WireJob, WireSlot } from "../../assistant/schedule/operations.ts";
import { usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { allPages } from "./all-pages.ts";

const HINTS: Readonly<Record<string, string>> = {
  not_found: "See surety schedule ls.",
  conflict: "See surety schedule ls.",
  "invalid.request": "docs/schedule.md has examples.",
};
const hintFor = (code: string): string => HINTS[code] ?? "See surety schedule --help.";
const WAITS = "no gateway runs on this home: jobs run while one does, see surety start";
const SHOWN_SLOTS = 10;

const ls: Action = {
  summary: "list the jobs; or show one, with what became of its last slots",
  arguments: ["[ID]"],
  examples: ["surety schedule ls", "surety schedule ls job_0123"],
  run: (context) =>
    withOperations(context, async (operations, isRemote) => {
      const [id] = context.arguments;
      if (id !== undefined) return await showJob(context, operations, id);
      const { output } = context;
      let paused = false;
      const jobs = await allPages(async (page) => {
        const listed = valueIn(await operations.call("schedule.list", page), hintFor);
        paused = listed.paused;
        return listed.jobs;
      });
      output.result({ jobs, paused }, () => {
        if (jobs.length === 0) output.line('no jobs: surety schedule add "@every 1h" "list files" adds one');
        else
          output.table(["ID", "SCHEDULE", "NEXT", "LAST RUN", "RAN", "SKIPPED", "MISSED", "MESSAGE"], jobs.map(rowOf));
        if (paused) output.line("all jobs are paused: surety schedule resume");
        else if (!isRemote && jobs.length > 0) output.line(WAITS);
      });
    }),
};

function rowOf({ id, schedule, last_run, slots, message, agent_id, ...job }: WireJob): readonly string[] {
  const counts = [slots.ran, slots.skipped, slots.missed].map(String);
  const said = message === null || agent_id === null ? "(not runnable: it has no agent or no message)" : message;
  return [id, schedule, nextOf(job), last_run ?? "never", ...counts, said];
}

function nextOf({ next_run, paused_at }: Pick<WireJob, "next_run" | "paused_at">): string {
  if (next_run === null) return "none";
  return paused_at === null ? next_run : "paused";
}

async function showJob({ output }: CommandContext, operations: OperationClient, id: string): Promise<void> {
  const jobs = await allPages(async (page) => valueIn(await operations.call("schedule.list", page), hintFor).jobs);
  const { slots } = valueIn(await operations.call("schedule.slots", { job_id: id, limit: SHOWN_SLOTS }), hintFor);
  const job = jobs.find((each) => each.id === id);
  output.result({ job, slots }, () => {
    if (job !== undefined) for (const [name, value] of fieldsOf(job)) output.field(name, value);
    if (slots.length > 0) output.table(["SLOT", "DUE", "STATUS", "WHY OR RUN"], slots.map(slotRow));
  });
}

function fieldsOf(job: WireJob): readonly (readonly [string, string])[] {
  return [
    ["job", job.id],
    ["schedule", job.schedule],
    ["message", job.message ?? "none"],
    ["agent", job.agent_id ?? "none"],
    ["next", nextOf(job)],
    ["last run", job.last_run_id === null ? "never" : `${job.last_run ?? ""} ${job.last_run_id}`],
    ["made by", job.created_by_run === null ? job.created_by : `${job.created_by}, in ${job.created_by_run}`],
    ["answers", job.session_id ?? "into a conversation of its own"],
    ["asks", job.unattended ? "no one: what needs an approval is denied" : "an operator"],
  ];
}

function slotRow({ slot, count, due_at, until, status, reason, run_id }: WireSlot): readonly string[] {
  const isOne = count === 1;
  return [
    isOne ? String(slot) : `${slot}-${slot + count - 1}`,
    isOne ? due_at : `${due_at} to ${until}`,
    status,
    reason ?? run_id ?? "",
  ];
}

const add: Action = {
  summary: "add a job: every so often, or once",
  arguments: ["SCHEDULE", "MESSAGE"],
  options: {
    id: { type: "string", value: "ID", summary: "its id; otherwise one is made" },
    agent: { type: "string", value: "A", summary: "the agent that runs it (default main)" },
    paused: { type: "boolean", summary: "do not run it before surety schedule resume ID" },
    unattended: { type: "boolean", summary: "ask no one: what needs an approval is denied at once" },
    "max-usd": { type: "string", value: "USD", summary: "what each of its runs may spend" },
  },
  examples: [
    'surety schedule add "@every 1h" "summarise notes.txt"',
    'surety schedule add 2026-12-24T18:00:00+01:00 "Reminder: call home" --id christmas',
  ],
  run: (context) => {
    const { options, arguments: words } = context;
    const [schedule = "", message = ""] = words;
    const id = options.text("id");
    return withOperations(context, async (operations, isRemote) => {
      const added = await operations.call("schedule.add", {
        ...(id === undefined ? {} : { id }),
        ...{ agent_id: options.text("agent") ?? "main", schedule, message },
        ...(options.flag("paused") ? { enabled: false } : {}),
        ...(options.flag("unattended") ? { unattended: true } : {}),
        ...spendLimit(options.text("max-usd")),
      });
      const job = valueIn(added, hintFor);
      context.output.result(job, () => {
        context.output.line(`${job.id}: ${job.schedule}, next ${nextOf(job)}`);
        if (!isRemote) context.output.line(WAITS);
      });
    });
  },
};

function spendLimit(text: string | undefined): { readonly max_spend_usd?: number } {
  if (text === undefined) return {};
  const usd = Number(text);
  if (!/^\d+(?:\.\d+)?$/.test(text) || usd > 1_000_000)
    throw usageError("--max-usd must be an amount such as 0.05", "");
  return { max_spend_usd: usd };
}

const rm: Action = {
  summary: "remove a job",
  arguments: ["ID"],
  examples: ["surety schedule rm job_0123"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [id = ""] = context.arguments;
      const removed = valueIn(await operations.call("schedule.remove", { id }), hintFor);
      context.output.result(removed, () => context.output.line(`removed ${id}`));
    }),
};

const controlling = (action: "pause" | "resume", summary: string): Action => ({
  summary,
  arguments: ["[ID]"],
  examples: [`surety schedule ${action}`, `surety schedule ${action} job_0123`],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [id] = context.arguments;
      const asked = { action, ...(id === undefined ? {} : { job_id: id }) };
      const done = valueIn(await operations.call("schedule.control", asked), hintFor);
      context.output.result(done, () => context.output.line(`${id ?? "all jobs"}: ${action}d`));
    }),
});

const run: Action = {
  summary: "run a job now, besides its schedule",
  arguments: ["ID"],
  examples: ["surety schedule run job_0123"],
  run: (context) =>
    withOperations(context, async (operations, isRemote) => {
      const [id = ""] = context.arguments;
      const begun = valueIn(await operations.call("schedule.run", { id }), hintFor);
      context.output.result(begun, () => {
        context.output.line(`${begun.run_id}: surety runs watch ${begun.run_id} shows it`);
        if (!isRemote) context.output.line("it begins when the gateway runs: surety start");
      });
    }),
};

export const command: Command = {
  actions: {
    ls,
    add,
    rm,
    pause: controlling("pause", "pause a job, or all of them: what falls due meanwhile is skipped"),
    resume: controlling("resume", "let a job go on, or all of them"),
    run,
  },
};
