/**
 * F9: everything a provider can do wrong, on either wire and for each run anew: a typed outcome each time, no tool out of an
 * answer that was not whole, nobody else contacted, and no harm where it did so only once.
 */
import { OUTCOMES } from "../../src/kernel/vocabulary/outcome.ts";
import { answer, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import type { ScriptedServer } from "../loopback/scripted-server.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { type AskedOfModel, type Job, postJob, readAsked, stepOf } from "./job.ts";
import { FAULTY_WIRES, misdeedsOn } from "./misdeeds.ts";
import { openStage } from "./stage.ts";
import { verifyHome } from "./verify-home.ts";

export const failingProvider: Fault = {
  id: "F9",
  title: "provider 429, 500, HTML 502, hang, reset, stream cut at each chunk",
  unit: "rounds",
  fullSize: 3,
  shortSize: 1,
  stage: failEveryWay,
};

const STEP_TIMEOUT_MS = 1_500;
const LIMIT_MS = 60_000;
const MODEL = { contextWindow: 32_768, maxOutputTokens: 2_048 };

const CASES = FAULTY_WIRES.flatMap((wire) => misdeedsOn(wire).map((misdeed) => ({ ...misdeed, wire: wire.kind })));
const RUNS_A_ROUND = CASES.length * 2;

/** Even jobs meet their misdeed until they have acted, odd ones only once. */
function caseOf(job: number): (typeof CASES)[number] {
  const [first] = CASES;
  const found = CASES[Math.floor(job / 2) % CASES.length] ?? first;
  if (found === undefined) throw new Error("there are no misdeeds");
  return found;
}

async function failEveryWay({ program, seed, size, judgesTime, say }: Staging): Promise<Findings> {
  const seen = new Map<number, number>();
  const replyTo = (asked: AskedOfModel): Reply => {
    const times = (seen.get(asked.job) ?? 0) + 1;
    seen.set(asked.job, times);
    const isMisdone = asked.results === 0 && (asked.job % 2 === 0 || times === 1);
    return isMisdone ? caseOf(asked.job).reply(asked.job) : stepOf(asked);
  };
  let strayed = 0;
  const notAsked = (): Reply => {
    strayed += 1;
    return answer({ text: "nobody asked me" });
  };
  const other = await startOpenAiServer(notAsked);
  const failing = await Promise.all(
    FAULTY_WIRES.map(({ start }) => start((request) => replyTo(readAsked(request)), { keepsRequests: false })),
  );
  const stage = await openStage({ program, seed, script: notAsked, providers: providersAt(failing, other) });
  const problems: string[] = [];
  const outcomes: Record<string, number> = {};
  try {
    const gateway = await stage.start();
    const total = RUNS_A_ROUND * size;
    for (let from = 0; from < total; from += RUNS_A_ROUND) {
      const numbers = Array.from({ length: RUNS_A_ROUND }, (_, index) => from + index);
      await Promise.all(
        numbers.map(async (number) => {
          const { name, acts, wire } = caseOf(number);
          const contract = { step_timeout_ms: STEP_TIMEOUT_MS };
          const how = `${wire}, ${name}, ${number % 2 === 0 ? "always" : "once"}`;
          const end = await endOf(gateway, { number, letters: "o", model: `${wire}:scripted`, contract });
          outcomes[end] = (outcomes[end] ?? 0) + 1;
          if (!OUTCOMES.some((outcome) => end.startsWith(outcome))) problems.push(`${how}: ended ${end}`);
          const times = stage.ledger.opaque.get(`${number}/0`) ?? 0;
          const isAllowed = number % 2 === 1 || acts !== undefined;
          if (times > 1 || (times > 0 && !isAllowed)) problems.push(`${how}: the tool was performed ${times} times`);
          if (end.startsWith("COMPLETED_WITH_TOOLS") && times !== 1)
            problems.push(`${how}: completed without its effect`);
          if (acts === "must" && judgesTime && !end.startsWith("COMPLETED_WITH_TOOLS"))
            problems.push(`${how}: ended ${end}`);
        }),
      );
      say(`${from + RUNS_A_ROUND}/${total} runs: ${JSON.stringify(outcomes)}`);
    }
    await gateway.stop();
    problems.push(...gateway.stderr.map((line) => `said: ${line}`), ...(await verifyHome(stage)));
    const contacted = other.connections + strayed;
    if (contacted > 0) problems.push(`another provider was contacted ${contacted} times`);
    const ends = Object.entries(outcomes).sort();
    return {
      figures: {
        misdeeds: CASES.length,
        runs: total,
        outcomes: ends.map(([outcome, count]) => `${count} ${outcome}`).join(", "),
        "requests to the failing ones": [...seen.values()].reduce((sum, times) => sum + times, 0),
        "contacts with another provider": contacted,
      },
      problems,
    };
  } finally {
    await Promise.all([stage.close(), other.close(), ...failing.map((server) => server.close())]);
  }
}

/** The default one is never to be asked, and `other` not even to be reached. */
function providersAt(failing: readonly ScriptedServer<unknown>[], other: ScriptedServer<unknown>) {
  const named = FAULTY_WIRES.map(({ kind }, at) => {
    return [kind, { kind, baseUrl: failing[at]?.baseUrl, local: true, models: { scripted: MODEL } }];
  });
  return { ...Object.fromEntries(named), other: { baseUrl: other.baseUrl, local: true, models: { second: MODEL } } };
}

/** Its outcome and reason; what it still says when it has not ended in time. */
async function endOf(gateway: GatewayProcess, job: Job): Promise<string> {
  const posted = await postJob(gateway, job);
  if (posted.kind !== "accepted") return JSON.stringify(posted);
  for (const until = performance.now() + LIMIT_MS; performance.now() < until; ) {
    const reply = await gateway.ask("GET", `/v1/runs/${posted.runId}`);
    const { outcome, reason } = (reply?.body ?? {}) as { outcome?: string | null; reason?: string | null };
    if (typeof outcome === "string") return [outcome, reason].filter((part) => part !== null).join(" ");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return "not at all";
}
