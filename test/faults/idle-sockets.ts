/** F11: ten thousand WebSockets that only listen, a hundred that converse, and a thousand that never read. */
import { setTimeout as pause } from "node:timers/promises";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import {
  type Bare,
  connectionsAllowed,
  openFiles,
  openMany,
  openWebSocket,
  residentMiB,
  showLife,
} from "./bare-sockets.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { type GatewayProcess, TOKEN } from "./gateway-process.ts";
import { openStage } from "./stage.ts";

/** Of each kind for ten thousand idle ones. */
const ACTIVE = 0.01;
const UNREADING = 0.1;
/** A token for one sender opens so many; there are so many tokens. */
const SOCKETS_OF_A_TOKEN = 64;
const TOKENS = 190;
/** Connections of our own requests and to the model. */
const OTHER_FILES = 8;
const LIFE_EVERY_MS = 20_000;
const MAX_RESIDENT_MIB = 1_536;
const LIMIT_MS = 120_000;
const BIG_ANSWER = "never read ".repeat(90_000);

export const idleSockets: Fault = {
  id: "F11",
  title: "idle WebSockets, one in a hundred active, one in ten never reads",
  unit: "sockets",
  fullSize: 10_000,
  shortSize: 200,
  stage: holdSockets,
};

async function holdSockets({ program, seed, size, say }: Staging): Promise<Findings> {
  const idle = Math.floor(connectionsAllowed(size * (1 + ACTIVE + UNREADING)) / (1 + ACTIVE + UNREADING));
  const active = Math.ceil(idle * ACTIVE);
  const unreading = Math.ceil(idle * UNREADING);
  const big = await startOpenAiServer(() => answer({ text: BIG_ANSWER, dialect: { pieceChars: 20_000 } }), {
    keepsRequests: false,
  });
  const models = { big: { contextWindow: 1_000_000, maxOutputTokens: 500_000 } };
  const stage = await openStage({
    ...{ program, seed, effectMs: () => 0, script: () => answer({ text: "I am here." }) },
    providers: { big: { kind: "openai_compatible", baseUrl: big.baseUrl, local: true, models } },
  });
  const problems: string[] = [];
  const opened: Bare[] = [];
  try {
    const gateway = await stage.start();
    const before = residentMiB(gateway.pid);
    const tokens = await makeTokens(gateway, Math.ceil(idle / SOCKETS_OF_A_TOKEN));
    const startedAt = performance.now();
    opened.push(
      ...(await openMany(idle, (index) => {
        const token = tokens[Math.floor(index / SOCKETS_OF_A_TOKEN)] ?? TOKEN;
        return openWebSocket(gateway.port, token);
      })),
    );
    const perSecond = Math.round(idle / ((performance.now() - startedAt) / 1_000));
    const holding = residentMiB(gateway.pid);
    say(`${idle} sockets are open (${perSecond}/s), ${holding} MiB`);
    const life = setInterval(() => opened.forEach(showLife), LIFE_EVERY_MS);
    const talkedAt = performance.now();
    const waits = await openMany(active, (index) => converse(gateway, index));
    const talkSeconds = (performance.now() - talkedAt) / 1_000;
    say(`${active} conversations in ${talkSeconds.toFixed(1)} s, ${residentMiB(gateway.pid)} MiB`);
    const gone = opened.filter(({ isClosed }) => isClosed()).length;
    if (gone > 0) problems.push(`${gone} of the idle sockets were closed`);
    const filesBefore = openFiles(gateway.pid);
    const deaf = await openMany(unreading, () => openWebSocket(gateway.port, TOKEN));
    for (const { socket } of deaf) socket.pause();
    const cutAt = performance.now();
    const stillOpen = (): number => Math.max(0, openFiles(gateway.pid) - filesBefore - OTHER_FILES);
    const runs = await tireOut(gateway, () => stillOpen() === 0);
    const left = stillOpen();
    if (left > 0) problems.push(`${left} sockets that never read are still open`);
    const peak = residentMiB(gateway.pid);
    if (peak > MAX_RESIDENT_MIB) problems.push(`the gateway holds ${peak} MiB, more than ${MAX_RESIDENT_MIB}`);
    const served = await gateway.ask("GET", "/v1/runs?limit=1");
    if (served?.status !== 200) problems.push(`then a request got ${served?.status ?? "no answer"}`);
    clearInterval(life);
    for (const { socket } of [...opened, ...deaf]) socket.destroy();
    await gateway.stop();
    problems.push(...gateway.stderr.map((line) => `said: ${line}`));
    const sorted = waits.toSorted((a, b) => a - b);
    return {
      figures: {
        "idle, active, never reading": `${idle}, ${active}, ${unreading}`,
        "opened/s": perSecond,
        "MiB before, with idle ones, at the end": `${before}, ${holding}, ${peak}`,
        "KiB a socket": Math.round(((holding - before) * 1024) / idle),
        "answer ms, median / longest": `${Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0)} / ${Math.round(sorted.at(-1) ?? 0)}`,
        "runs until all that never read were cut": runs,
        "cut after s": ((performance.now() - cutAt) / 1_000).toFixed(1),
      },
      problems,
    };
  } finally {
    for (const { socket } of opened) socket.destroy();
    await stage.close();
    await big.close();
  }
}

async function makeTokens(gateway: GatewayProcess, count: number): Promise<readonly string[]> {
  const tokens: string[] = [];
  for (let number = 0; number < Math.min(count, TOKENS); number += 1) {
    const body = { name: `idle ${number}`, scope: "chat", owner: `web:idle_${number}` };
    const reply = await gateway.ask("POST", "/api/tokens", body);
    if (reply?.status !== 200) throw new Error(`no token: ${JSON.stringify(reply?.body)}`);
    tokens.push((reply.body as { readonly token: string }).token);
  }
  return tokens;
}

/** One message and its whole answer; returns how long that took. */
function converse({ port }: GatewayProcess, index: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const id = `msg_${index}`;
    let runId: unknown = null;
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, ["surety", `surety.bearer.${TOKEN}`]);
    const payload = { channel: "web", senderId: `active_${index}`, text: "are you there?" };
    socket.addEventListener("open", () =>
      socket.send(JSON.stringify({ id, type: "channel.message", timestamp: index, payload })),
    );
    socket.addEventListener("message", ({ data }) => {
      const { type, payload: said } = JSON.parse(String(data));
      if (said.messageId === id) runId = said.runId;
      if (type === "error" && said.messageId === id) reject(new Error(said.message));
      if (type !== "agent.response.end" || runId === null || said.runId !== runId) return;
      socket.close();
      resolve(performance.now() - startedAt);
    });
    socket.addEventListener("error", () => reject(new Error(`the active socket ${index} failed`)));
  });
}

/** Long answers, until nobody who never reads is left; returns how many it took. */
async function tireOut(gateway: GatewayProcess, isOver: () => boolean): Promise<number> {
  let runs = 0;
  for (const until = performance.now() + LIMIT_MS; performance.now() < until; ) {
    if (isOver()) return runs;
    const body = { agent_id: "main", message: `run ${runs}`, model: "big:big" };
    const posted = await gateway.ask("POST", "/v1/runs", body);
    if (posted?.status !== 202) throw new Error(`not accepted: ${JSON.stringify(posted?.body)}`);
    runs += 1;
    const { id } = posted.body as { readonly id: string };
    for (;;) {
      const reply = await gateway.ask("GET", `/v1/runs/${id}`);
      const record = (reply?.body ?? {}) as { readonly outcome?: string | null };
      if (typeof record.outcome === "string") break;
      await pause(50);
    }
  }
  return runs;
}
