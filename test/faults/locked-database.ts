/**
 * F7: another process holds the database for writing, for 0 to 30 seconds and a little more.
 *
 * A post during that time waits, or is refused with 503 `store.unavailable`; reads are answered all the while; nothing
 * is lost, and afterwards everything goes on by itself.
 */
import { setTimeout as pause } from "node:timers/promises";
import { startChild } from "../adapters/store-sqlite/child-process.ts";
import { AcceptedJobs } from "./accepted-jobs.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { type Job, postJob } from "./job.ts";
import { openStage } from "./stage.ts";
import { verifyHome } from "./verify-home.ts";

/** Beyond the 30 s for which the writer waits, too. */
const HELD_S = [0.2, 2, 10, 29, 33];
const WIDE = 16;
const END_LIMIT_MS = 120_000;

export const lockedDatabase: Fault = {
  id: "F7",
  title: "database locked by another process, 0 to 33 s",
  unit: "locks",
  fullSize: HELD_S.length,
  shortSize: 2,
  stage: lockOften,
};

async function lockOften({ program, seed, size, say }: Staging): Promise<Findings> {
  const stage = await openStage({ program, seed });
  const jobs = new AcceptedJobs();
  const problems: string[] = [];
  const figures: Record<string, string | number> = {};
  try {
    const gateway = await stage.start();
    for (const [round, seconds] of HELD_S.slice(0, size).entries()) {
      await postAll(gateway, jobs, round * 1_000);
      const holder = startChild("./hold-database.ts", stage.home);
      await holder.nextLine();
      const posting = postAll(gateway, jobs, round * 1_000 + WIDE);
      const answered = await readWhile(gateway, seconds * 1_000);
      holder.say("let go");
      await holder.kill("SIGTERM");
      const refusals = await posting;
      if (answered === 0) problems.push(`locked for ${seconds} s: no read was answered`);
      for (const refusal of refusals) {
        if (refusal !== "503 store.unavailable") problems.push(`locked for ${seconds} s: refused with ${refusal}`);
      }
      const again = await postUntilAccepted(gateway, jobs, round * 1_000 + 2 * WIDE);
      if (!again) problems.push(`locked for ${seconds} s: nothing was accepted afterwards`);
      await jobs.bringToEnd(stage, gateway, END_LIMIT_MS);
      figures[`locked for ${seconds} s`] =
        `${WIDE - refusals.length} waited, ${refusals.length} refused, ${answered} reads answered`;
      say(`locked for ${seconds} s: ${figures[`locked for ${seconds} s`]}`);
    }
    await gateway.stop();
    if (gateway.stderr.length > 0) figures["said"] = gateway.stderr.join(" | ");
    problems.push(...jobs.check(stage), ...(await verifyHome(stage)));
    return { figures: { ...figures, "runs accepted": jobs.size, outcomes: jobs.outcomes() }, problems };
  } finally {
    await stage.close();
  }
}

/** What the refused ones were told. */
async function postAll(gateway: GatewayProcess, jobs: AcceptedJobs, from: number): Promise<readonly string[]> {
  const posts = Array.from({ length: WIDE }, async (_, index): Promise<readonly string[]> => {
    const job: Job = { number: from + index, letters: "oko" };
    const posted = await postJob(gateway, job);
    if (posted.kind === "accepted") jobs.accept(posted.runId, job);
    return posted.kind === "refused"
      ? [`${posted.status} ${posted.code}`]
      : posted.kind === "unknown"
        ? ["nothing"]
        : [];
  });
  return (await Promise.all(posts)).flat();
}

async function postUntilAccepted(gateway: GatewayProcess, jobs: AcceptedJobs, from: number): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if ((await postAll(gateway, jobs, from)).length === 0) return true;
    await pause(100);
  }
  return false;
}

async function readWhile(gateway: GatewayProcess, ms: number): Promise<number> {
  let answered = 0;
  for (const until = performance.now() + ms; performance.now() < until; ) {
    const reply = await gateway.ask("GET", "/v1/runs?limit=5");
    if (reply?.status === 200) answered += 1;
    await pause(100);
  }
  return answered;
}
