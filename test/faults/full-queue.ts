/** F12: five times as many posts as the queue holds (1000 by default), with nobody working; then a restart with workers. */
import { AcceptedJobs } from "./accepted-jobs.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { type Job, postJob } from "./job.ts";
import { openStage } from "./stage.ts";
import { verifyHome } from "./verify-home.ts";

const TIMES = 5;
const AT_ONCE = 64;
const END_LIMIT_MS = 300_000;

export const fullQueue: Fault = {
  id: "F12",
  title: "five times what the queue holds, workers paused, then a restart",
  unit: "posts",
  fullSize: 5_000,
  shortSize: 250,
  stage: overfill,
};

async function overfill({ program, seed, size, say }: Staging): Promise<Findings> {
  const queue = Math.floor(size / TIMES);
  const stage = await openStage({ program, seed, queue, effectMs: () => 0 });
  const jobs = new AcceptedJobs();
  const answers = new Map<string, number>();
  const problems: string[] = [];
  try {
    const paused = await stage.start({ workers: 0 });
    const startedAt = performance.now();
    let next = 0;
    const postOn = async (): Promise<void> => {
      while (next < size) {
        const job: Job = { number: next, letters: "o" };
        next += 1;
        const posted = await postJob(paused, job);
        if (posted.kind === "accepted") jobs.accept(posted.runId, job);
        const said = posted.kind === "refused" ? `${posted.status} ${posted.code}` : posted.kind;
        answers.set(said, (answers.get(said) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, postOn));
    const perSecond = Math.round(size / ((performance.now() - startedAt) / 1_000));
    say(`${size} posts (${perSecond}/s): ${[...answers].map(([said, count]) => `${count} ${said}`).join(", ")}`);
    if (answers.get("accepted") !== queue) problems.push(`${answers.get("accepted") ?? 0} accepted, not ${queue}`);
    const full = answers.get("429 queue.full") ?? 0;
    if (full !== size - queue) problems.push(`${full} refused with queue.full, not ${size - queue}`);
    if (stage.ledger.total > 0) problems.push("somebody worked");
    await paused.stop();
    const working = await stage.start();
    const restartedAt = performance.now();
    await jobs.bringToEnd(stage, working, END_LIMIT_MS);
    const seconds = (performance.now() - restartedAt) / 1_000;
    await working.stop();
    const said = [...paused.stderr, ...working.stderr].map((line) => `said: ${line}`);
    problems.push(...said, ...jobs.check(stage), ...(await verifyHome(stage)));
    return {
      figures: {
        "posts, queue": `${size}, ${queue}`,
        answers: [...answers].map(([answer, count]) => `${count} ${answer}`).join(", "),
        "posts/s": perSecond,
        outcomes: jobs.outcomes(),
        effects: stage.ledger.total,
        "all ended after s": seconds.toFixed(1),
      },
      problems,
    };
  } finally {
    await stage.close();
  }
}
