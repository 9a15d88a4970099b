/** F13: connections that send a byte now and then, heads and bodies; others are served meanwhile. */
import { setTimeout as pause } from "node:timers/promises";
import { type Bare, connectionsAllowed, openBare, openMany } from "./bare-sockets.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { type GatewayProcess, TOKEN } from "./gateway-process.ts";
import { openStage } from "./stage.ts";

/** One in five sends a body slowly, with a token that counts. */
const BODIES = 0.2;
const BYTE_EVERY_MS = 2_000;
const HEAD_LIMIT_MS = 15_000;
const BODY_LIMIT_MS = 35_000;
const ASK_EVERY_MS = 20;
/** Bodies are waited for at full size only: half a minute. */
const WITH_BODIES = 500;

export const slowSenders: Fault = {
  id: "F13",
  title: "connections that send a byte every two seconds, others served meanwhile",
  unit: "connections",
  fullSize: 2_000,
  shortSize: 300,
  stage: sendSlowly,
};

async function sendSlowly({ program, seed, size, judgesTime, say }: Staging): Promise<Findings> {
  const all = connectionsAllowed(size);
  const bodies = all < WITH_BODIES ? 0 : Math.floor(all * BODIES);
  const stage = await openStage({ program, seed });
  const problems: string[] = [];
  const opened: Bare[] = [];
  try {
    const gateway = await stage.start();
    const usual = await times(gateway, 2_000);
    const startedAt = performance.now();
    const slow = await openMany(all, async (index) => {
      const bare = await openBare(gateway.port);
      opened.push(bare);
      const isBody = index < bodies;
      bare.socket.write(isBody ? headOfBody() : "GET /v1/runs HTTP/1.1\r\nX-Slow: ");
      bare.socket.resume();
      return { ...bare, isBody };
    });
    const dripping = setInterval(() => {
      for (const { socket, isClosed } of slow) if (!isClosed()) socket.write("a");
    }, BYTE_EVERY_MS);
    const left = (isBody: boolean): number => slow.filter((each) => each.isBody === isBody && !each.isClosed()).length;
    const busy = await times(gateway, 0, () => left(false) === 0, HEAD_LIMIT_MS + 5_000);
    const headSeconds = (performance.now() - startedAt) / 1_000;
    if (left(false) > 0) problems.push(`${left(false)} slow heads are still open after ${headSeconds.toFixed(1)} s`);
    say(`${all - bodies} slow heads closed after ${headSeconds.toFixed(1)} s`);
    await times(gateway, 0, () => left(true) === 0, bodies === 0 ? 0 : BODY_LIMIT_MS);
    if (left(true) > 0) problems.push(`${left(true)} slow bodies are still open`);
    const bodySeconds = bodies === 0 ? "none" : ((performance.now() - startedAt) / 1_000).toFixed(1);
    clearInterval(dripping);
    if (judgesTime && headSeconds * 1_000 > HEAD_LIMIT_MS) problems.push("slow heads were closed too late");
    if (busy.failed > 0) problems.push(`${busy.failed} other requests failed`);
    await gateway.stop();
    problems.push(...gateway.stderr.map((line) => `said: ${line}`));
    return {
      figures: {
        "slow heads, slow bodies": `${all - bodies}, ${bodies}`,
        "heads closed after s": headSeconds.toFixed(1),
        "bodies closed after s": bodySeconds,
        "others, p99 ms before and meanwhile": `${usual.p99.toFixed(1)}, ${busy.p99.toFixed(1)}`,
        "others served meanwhile": busy.count,
      },
      problems,
    };
  } finally {
    for (const { socket } of opened) socket.destroy();
    await stage.close();
  }
}

function headOfBody(): string {
  return `POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 1000\r\n\r\n{`;
}

/** Requests of others, for so long or until it is over. */
async function times(gateway: GatewayProcess, forMs: number, isOver = () => true, limitMs = forMs) {
  const took: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const passed = (): number => performance.now() - startedAt;
  while (passed() < forMs || (!isOver() && passed() < limitMs)) {
    const askedAt = performance.now();
    const reply = await gateway.ask("GET", "/v1/runs?limit=1");
    took.push(performance.now() - askedAt);
    if (reply?.status !== 200) failed += 1;
    await pause(ASK_EVERY_MS);
  }
  const p99 = took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.99)] ?? 0;
  return { count: took.length, failed, p99 };
}
