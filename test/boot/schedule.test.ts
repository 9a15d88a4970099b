/** Jobs through the real product: the adversarial class, the API's shapes, and what becomes of slots. */
import { readFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { verifies } from "../requirements.ts";
import { openLiveGateway } from "./live-gateway.ts";

const JOBS = "/api/admin/scheduler/jobs";
const CONTROL = "/api/admin/scheduler/control";
const PAST = "2001-01-01T00:00:00Z";
const WAIT = { timeout: 20_000, interval: 20 };

async function openSchedule(config?: string) {
  const gateway = await openLiveGateway(config === undefined ? {} : { config });
  const { ask } = gateway;
  const jobs = async () => (await ask("GET", JOBS)).json;
  const job = async (id: string) => (await jobs()).jobs.find((each: { id: string }) => each.id === id);
  return {
    ...gateway,
    jobs,
    job,
    add: (more: object) => ask("POST", JOBS, { agent_id: "main", message: "list files", ...more }),
    slots: async (id: string) => (await ask("GET", `/api/admin/scheduler/slots?job_id=${id}`)).json.slots,
    settled: (id: string) =>
      vi.waitFor(async () => {
        const found = await job(id);
        expect(found.next_run).toBeNull();
        return found;
      }, WAIT),
  };
}

interface Attack {
  readonly class: string;
  readonly name: string;
  readonly input: { readonly id?: string; readonly schedule?: string };
  readonly expected: string;
}

verifies(["O-4.2/every", "O-4.2/once", "O-4.2/cron"], "every input of the class schedule ends as it must", async () => {
  const { add, job, jobs, settled } = await openSchedule();
  await add({ id: "job_daily_report", schedule: "@every 1h" });
  const all: readonly Attack[] = JSON.parse(await readFile("test/fixtures/adversarial.json", "utf8"));
  const attacks = all.filter(({ class: kind, input }) => kind === "schedule" && input.schedule !== undefined);
  // What a clock does is for the simulation (test/assistant/schedule).
  expect(attacks).toHaveLength(15);
  for (const { name, input, expected } of attacks) {
    const { status, json } = await add({ id: name, ...input });
    const wanted = expected.startsWith("409") ? 409 : expected.startsWith("400") ? 400 : 200;
    expect([name, status]).toEqual([name, wanted]);
    if (wanted === 400) expect(json.error).toMatchObject({ code: "invalid.request" });
  }
  expect(await job("fraction")).toMatchObject({ schedule: "@every 1.5h" });
  expect(await job("offset_ok")).toMatchObject({ schedule: "2026-02-18T00:00:00Z" });
  expect(await job("far_future")).toMatchObject({ last_run: null, next_run: "9999-12-31T23:59:59.000Z" });
  expect(await job("job_daily_report")).toMatchObject({ schedule: "@every 1h" });
  expect(await settled("past_oneshot")).toMatchObject({ enabled: false, slots: { ran: 1, skipped: 0, missed: 0 } });
  const ids = (await jobs()).jobs.map(({ id }: { id: string }) => id);
  expect(ids).not.toContain("cron_macro");
});

verifies(
  ["O-4.1/record", "O-4.1/id", "O-4.3/once", "X-11/ends"],
  "a job runs at its time, and its record says so",
  async () => {
    const { add, slots, settled, ended, jobs } = await openSchedule();
    const { status, json } = await add({ schedule: PAST });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      agent_id: "main",
      schedule: PAST,
      message: "list files",
      enabled: true,
      last_run: null,
    });
    expect(json.id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const job = await settled(json.id);
    expect(job).toMatchObject({ enabled: false, last_run: expect.stringMatching(/^2\d{3}-.*Z$/) });
    const [slot] = await slots(json.id);
    expect(slot).toMatchObject({ slot: 1, count: 1, status: "ran", reason: null, run_id: job.last_run_id });
    expect(await ended(job.last_run_id)).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", source: `job:${json.id}` });
    expect((await jobs()).paused).toBe(false);
  },
);

verifies(
  ["O-4.1/not-runnable", "X-11/ends"],
  "without an agent or a message a job is kept, and its slots are skipped",
  async () => {
    const { ask, job, slots, settled } = await openSchedule();
    await ask("POST", JOBS, { id: "no_agent", schedule: PAST, message: "list files" });
    await ask("POST", JOBS, { id: "no_message", schedule: PAST, agent_id: "main" });
    await ask("POST", JOBS, { id: "no_such_agent", schedule: PAST, agent_id: "absent", message: "hello" });
    const reasons = { no_agent: "no agent", no_message: "no message", no_such_agent: "no such agent" };
    for (const [id, why] of Object.entries(reasons)) {
      await settled(id);
      expect(await slots(id)).toMatchObject([
        { status: "skipped", reason: expect.stringContaining(why), run_id: null },
      ]);
    }
    expect(await job("no_agent")).toMatchObject({ agent_id: null, enabled: false, last_run: null });
  },
);

test("what is refused says why, and leaves nothing", async () => {
  const { ask, add, jobs } = await openSchedule("{ scheduler: { maxJobs: 1 } }");
  expect((await add({ id: "a b", schedule: "@every 1h" })).status).toBe(400);
  expect((await add({ schedule: "@every 1h", bogus: 1 })).status).toBe(400);
  expect((await ask("POST", JOBS, { agent_id: "main", message: "x" })).status).toBe(400);
  expect((await ask("DELETE", `${JOBS}/absent`)).status).toBe(404);
  expect((await ask("POST", CONTROL, { action: "pause", job_id: "absent" })).status).toBe(404);
  expect((await ask("POST", CONTROL, { action: "stop" })).status).toBe(400);
  expect(await jobs()).toEqual({ jobs: [], paused: false });
  expect((await add({ id: "one", schedule: "@every 1h" })).status).toBe(200);
  expect(await add({ id: "two", schedule: "@every 1h" })).toMatchObject({
    status: 409,
    json: { error: { message: expect.stringContaining("scheduler.maxJobs") } },
  });
});

test("paused, nothing runs: one job or all of them; resumed, a one-shot has its turn", async () => {
  const { ask, add, job, jobs, settled } = await openSchedule();
  expect((await ask("POST", CONTROL, { action: "pause" })).json).toEqual({ paused: true, job: null });
  await add({ id: "first", schedule: PAST });
  await add({ id: "second", schedule: PAST });
  expect((await jobs()).paused).toBe(true);
  await ask("POST", CONTROL, { action: "pause", job_id: "second" });
  expect((await ask("POST", CONTROL, { action: "resume" })).json).toEqual({ paused: false, job: null });
  await settled("first");
  expect(await job("second")).toMatchObject({ enabled: false, last_run: null, slots: { ran: 0 } });
  const { json } = await ask("POST", CONTROL, { action: "resume", job_id: "second" });
  expect(json.job).toMatchObject({ id: "second", enabled: true });
  expect(await settled("second")).toMatchObject({ slots: { ran: 1 } });
  expect((await ask("POST", CONTROL, { action: "resume", job_id: "second" })).status).toBe(409);
});

test("a job is run by hand beside its schedule, in a conversation of its own", async () => {
  const { ask, add, job, ended } = await openSchedule();
  await add({ id: "report", schedule: "@every 1h" });
  const first = await ask("POST", `${JOBS}/report/run`);
  expect(first.status).toBe(202);
  await ended(first.json.run_id);
  const second = await ask("POST", `${JOBS}/report/run`);
  await ended(second.json.run_id);
  expect(second.json.session_id).toBe(first.json.session_id);
  expect((await ask("GET", `/api/sessions/${first.json.session_id}`)).json.key).toBe(
    "agent:main:http:default:job:report",
  );
  expect(await job("report")).toMatchObject({
    last_run_id: second.json.run_id,
    slots: { ran: 0, skipped: 0, missed: 0 },
  });
  expect((await ask("DELETE", `${JOBS}/report`)).json).toEqual({ id: "report" });
  expect((await ask("POST", `${JOBS}/report/run`)).status).toBe(404);
});

test("asked in a conversation, the assistant makes a job; it answers there, and is listed and removed by asking", async () => {
  const allow = ["*"];
  const policy = { allow, risk: { side_effect: "allow" } };
  const { ask, submit, ended, jobs } = await openSchedule(
    JSON.stringify({ tools: { policy }, scheduler: { timeZone: "Asia/Kolkata" } }),
  );
  const first = await ended(await submit("remind me every 1h to stretch"));
  expect(first).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", output: expect.stringContaining("@every 1h") });
  const [job] = (await jobs()).jobs;
  expect(job).toMatchObject({
    ...{ schedule: "@every 1h", message: "Reminder: stretch", agent_id: "main", channel_class: "cli_local" },
    ...{ created_by_run: first.id, session_id: first.session_id, unattended: false },
  });
  const run = await ask("POST", `${JOBS}/${job.id}/run`);
  expect(run.json.session_id).toBe(first.session_id);
  expect(await ended(run.json.run_id)).toMatchObject({ output: "Reminder: stretch" });

  const second = await ended(await submit("remind me tomorrow at 9 to call home"));
  expect(second.output).toContain("T09:00:00+05:30");
  const local = (await jobs()).jobs.find(({ message }: { message: string }) => message === "Reminder: call home");
  expect(local.schedule).toMatch(/T03:30:00Z$/);
  await ask("DELETE", `${JOBS}/${local.id}`);
  expect((await jobs()).jobs).toHaveLength(1);
});
