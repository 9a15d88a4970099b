/**
 * F9: everything a provider can do wrong, for each run anew: a typed outcome each time, no tool out of a block that was
 * not whole, nobody else contacted, and no harm where it did so only once.
 */
import { OUTCOMES } from "../../src/kernel/vocabulary/outcome.ts";
import { encodeEvents } from "../loopback/chat-wire.ts";
import { answer, html, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { EFFECT_TOOLS } from "./effect-tools.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { type Job, postJob, readAsked, stepOf } from "./job.ts";
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

interface Misdeed {
  readonly name: string;
  reply(job: number): Reply;
  /** The whole answer had been sent: acting on it is right. */
  readonly isWhole?: boolean;
}

const STEP_TIMEOUT_MS = 1_500;
const LIMIT_MS = 60_000;

async function failEveryWay({ program, seed, size, say }: Staging): Promise<Findings> {
  const misdeeds = [...PLAIN_MISDEEDS, ...cutsAtEachChunk()];
  const seen = new Map<number, number>();
  /** Even jobs meet the misdeed always, odd ones only once. */
  const misdeedFor = (job: number): Misdeed | undefined => {
    const times = (seen.get(job) ?? 0) + 1;
    seen.set(job, times);
    return job % 2 === 0 || times === 1 ? misdeeds[Math.floor(job / 2) % misdeeds.length] : undefined;
  };
  const other = await startOpenAiServer(() => answer({ text: "nobody asked me" }));
  const stage = await openStage({
    program,
    seed,
    providers: {
      other: {
        baseUrl: other.baseUrl,
        local: true,
        models: { second: { contextWindow: 8_192, maxOutputTokens: 512 } },
      },
    },
    script: (request) => {
      const asked = readAsked(request);
      return misdeedFor(asked.job)?.reply(asked.job) ?? stepOf(asked);
    },
  });
  const problems: string[] = [];
  const outcomes: Record<string, number> = {};
  try {
    const gateway = await stage.start();
    const total = misdeeds.length * 2 * size;
    for (let from = 0; from < total; from += misdeeds.length * 2) {
      const numbers = Array.from({ length: misdeeds.length * 2 }, (_, index) => from + index);
      await Promise.all(
        numbers.map(async (number) => {
          const job: Job = { number, letters: "o", contract: { step_timeout_ms: STEP_TIMEOUT_MS } };
          const { name, isWhole = false } = misdeeds[Math.floor(number / 2) % misdeeds.length] as Misdeed;
          const how = `${name}, ${number % 2 === 0 ? "always" : "once"}`;
          const end = await endOf(gateway, job);
          outcomes[end] = (outcomes[end] ?? 0) + 1;
          if (!OUTCOMES.some((outcome) => end.startsWith(outcome))) problems.push(`${how}: ended ${end}`);
          const times = stage.ledger.opaque.get(`${number}/0`) ?? 0;
          const isAllowed = number % 2 === 1 || isWhole;
          if (times > 1 || (times > 0 && !isAllowed)) problems.push(`${how}: the tool was performed ${times} times`);
          if (end.startsWith("COMPLETED_WITH_TOOLS") && times !== 1)
            problems.push(`${how}: completed without its effect`);
        }),
      );
      say(`${Math.min(from + misdeeds.length * 2, total)}/${total} runs: ${JSON.stringify(outcomes)}`);
    }
    await gateway.stop();
    problems.push(...gateway.stderr.map((line) => `said: ${line}`), ...(await verifyHome(stage)));
    const contacted = other.connections;
    if (contacted > 0) problems.push(`another provider was contacted ${contacted} times`);
    const ends = Object.entries(outcomes).sort();
    return {
      figures: {
        misdeeds: misdeeds.length,
        runs: total,
        outcomes: ends.map(([outcome, count]) => `${count} ${outcome}`).join(", "),
        "requests to the failing one": [...seen.values()].reduce((sum, times) => sum + times, 0),
        "contacts with another provider": contacted,
      },
      problems,
    };
  } finally {
    await Promise.all([stage.close(), other.close()]);
  }
}

const toolCall = (job: number) => ({ calls: [{ id: "call_0", name: EFFECT_TOOLS.opaque, arguments: { job, n: 0 } }] });

const PLAIN_MISDEEDS: readonly Misdeed[] = [
  { name: "429 with Retry-After", reply: () => json(429, { error: { message: "slow down" } }, { "retry-after": "1" }) },
  { name: "429 with an hour", reply: () => json(429, { error: { message: "slow down" } }, { "retry-after": "3600" }) },
  { name: "429", reply: () => json(429, { error: { message: "slow down" } }) },
  { name: "500", reply: () => json(500, { error: { message: "oops" } }) },
  { name: "HTML 502", reply: () => html(502) },
  { name: "HTML 200", reply: () => html(200) },
  { name: "hang", reply: () => ({ kind: "hang" }) },
  { name: "hang after the head", reply: () => ({ kind: "hang", withHead: true }) },
  { name: "reset", reply: () => ({ kind: "reset" }) },
  { name: "no HTTP", reply: () => ({ kind: "bytes", bytes: "SSH-2.0-OpenSSH_9.6\r\n" }) },
];

/** After each event of a streamed tool call, by a reset and by an orderly end. */
function cutsAtEachChunk(): readonly Misdeed[] {
  const events = encodeEvents(toolCall(0)).length;
  return Array.from({ length: events }, (_, sent) =>
    (["reset", "end"] as const).map(
      (by): Misdeed => ({
        name: `cut after ${sent} of ${events} events by ${by}`,
        reply: (job) => answer({ ...toolCall(job), cut: { events: sent, by } }),
        isWhole: encodeEvents(toolCall(0))
          .slice(0, sent)
          .some((event) => event.includes('"finish_reason":"tool_calls"')),
      }),
    ),
  ).flat();
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
