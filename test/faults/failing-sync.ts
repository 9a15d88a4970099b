/** F4: every fsync and fdatasync of the process fails with EIO for a while (strace attached to it). */
import { AcceptedJobs } from "./accepted-jobs.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { outage } from "./outage.ts";
import { openStage } from "./stage.ts";
import { failCalls, hasStrace, SYNCS } from "./strace.ts";
import { verifyHome } from "./verify-home.ts";

export const failingSync: Fault = {
  id: "F4",
  title: "fsync fails (strace, EIO), then works again",
  unit: "failures",
  fullSize: 5,
  shortSize: 1,
  stage: failSyncs,
};

async function failSyncs({ program, seed, size, say }: Staging): Promise<Findings> {
  if (!hasStrace()) return { figures: {}, problems: [], notStaged: "strace is not installed (apt-get install strace)" };
  const stage = await openStage({ program, seed });
  const jobs = new AcceptedJobs();
  const problems: string[] = [];
  const figures: Record<string, string | number> = { failures: 0 };
  try {
    const gateway = await stage.start();
    for (let round = 0; round < size; round += 1) {
      const found = await outage(stage, gateway, jobs, {
        round,
        begin: async () => (await failCalls(gateway.pid, SYNCS, "EIO")).heal,
        isTotal: true,
        expected: /disk failed/,
      });
      problems.push(...found.problems);
      Object.assign(figures, { ...found.figures, failures: round + 1 });
      say(`failure ${round + 1}/${size}: ${JSON.stringify(found.figures)}`);
    }
    await gateway.stop();
    problems.push(...jobs.check(stage), ...(await verifyHome(stage)));
    return { figures: { ...figures, "runs accepted": jobs.size, outcomes: jobs.outcomes() }, problems };
  } finally {
    await stage.close();
  }
}
