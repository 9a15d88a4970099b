/** SIGTERM while 64 runs of tools with real effects are in flight and others are posted; every other life ends by kill -9. */
import { setTimeout as pause } from "node:timers/promises";
import { derive } from "../simulate/random.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { readAsked, stepOf } from "./job.ts";
import { Workload } from "./kill-at-random.ts";
import { openStage } from "./stage.ts";
import { verifyHome } from "./verify-home.ts";

const MAX_LIFE_MS = 150;
/** What the gateway promises of a whole stop. */
const STOP_LIMIT_MS = 20_000;
const END_LIMIT_MS = 300_000;

export const stopUnderLoad: Fault = {
  id: "stop",
  title: "SIGTERM under load, every other time kill -9, then a restart",
  unit: "stops",
  fullSize: 100,
  shortSize: 2,
  stage: stopOften,
};

async function stopOften({ program, seed, size, judgesTime, say }: Staging): Promise<Findings> {
  const work = new Workload(seed);
  const stage = await openStage({
    program,
    seed,
    script: (request) => {
      const asked = readAsked(request);
      if (asked.results >= asked.letters.length) work.answered.add(asked.job);
      return stepOf(asked);
    },
  });
  const problems: string[] = [];
  const stopMs: number[] = [];
  try {
    for (let life = 1; life <= size; life += 1) {
      const gateway = await stage.start();
      const filled = Promise.all([stage.operator.answerAll(gateway), work.fill(gateway)]);
      const busy = filled.then(() => work.keepFull(gateway));
      await filled;
      await pause(derive(seed, "life", life).between(0, MAX_LIFE_MS));
      if (life % 2 === 0) await stage.kill(gateway);
      else {
        const askedAt = performance.now();
        const { code, signal } = await gateway.stop();
        stopMs.push(performance.now() - askedAt);
        if (code !== 0) problems.push(`a stop ended with ${signal ?? code}`);
      }
      problems.push(...gateway.stderr.map((line) => `life ${life} said: ${line}`));
      await busy;
      if (life % Math.max(1, Math.floor(size / 10)) === 0)
        say(`${life}/${size} lives, ${work.jobs.size} runs accepted`);
    }
    const last = await stage.start();
    await work.fill(last);
    await work.jobs.bringToEnd(stage, last, END_LIMIT_MS);
    await last.stop();
    const slow = stopMs.filter((ms) => ms > STOP_LIMIT_MS).length;
    if (slow > 0 && judgesTime) problems.push(`${slow} stops took longer than ${STOP_LIMIT_MS} ms`);
    problems.push(...last.stderr.map((line) => `the last life said: ${line}`));
    problems.push(...work.jobs.check(stage), ...(await verifyHome(stage)));
    return {
      figures: {
        "stops, kills": `${stopMs.length}, ${size - stopMs.length}`,
        "stop ms, longest": Math.round(Math.max(...stopMs)),
        "runs accepted": work.jobs.size,
        outcomes: work.jobs.outcomes(),
        "effects cut off from their result": stage.ledger.gaps.size,
      },
      problems,
    };
  } finally {
    await stage.close();
  }
}
