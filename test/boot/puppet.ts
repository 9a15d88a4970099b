/**
 * The whole assistant on a home of its own, with a model that does as it is told: each run proposes one call, which is
 * planned, decided about, performed and recorded as any other.
 */
import { createHook } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Config } from "../../src/boot/config/config.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { auditEvents } from "../../src/kernel/journal/views/audit-events.ts";
import type { SessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { readWholeJournal } from "../../src/runtime/run/read-run.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

export interface Call {
  readonly name: string;
  readonly arguments: object;
}

interface Circumstances {
  readonly sessionId?: SessionId;
  readonly approvedTools?: readonly string[];
}

export async function openPuppet(tools: Partial<Config["tools"]> = {}) {
  let proposed: Call | null = null;
  let told = "";
  const server = await startOpenAiServer(({ body }) => {
    // A long session is summed up between its runs, without tools.
    if (body.tools === undefined) return answer({ text: "Pages were asked for." });
    const call = proposed;
    proposed = null;
    told = String(body.messages.findLast(({ role }) => role === "tool")?.["content"] ?? "");
    return call === null ? answer({ text: "That was it." }) : answer({ calls: [call] });
  });
  onTestFinished(() => server.close());
  const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024 } };
  const providers = { puppet: { baseUrl: server.baseUrl, local: true, models } };
  const config = readOk(JSON.stringify({ models: { default: "puppet:m", providers }, tools }));
  const home = await temporaryHome();
  await openHome(home);
  const defects: unknown[] = [];
  const surety = await openSurety({
    ...{ home, config, clock: systemClock, random: systemRandomness, token: null, approver: noApprover },
    readVariable: () => undefined,
    onDefect: (_id, error) => defects.push(error),
  });
  onTestFinished(() => surety.close(1000));
  const { assistant, runtime, store } = surety;

  /** A run in which the model proposes this call; what became of it, and what the audit says. */
  async function propose(call: Call, { sessionId, approvedTools = [] }: Circumstances = {}) {
    proposed = call;
    const submitted = await assistant.submit({
      ...{ agentId: "main", message: "go on", model: null, thinkingMode: null, contract: {}, approvedTools },
      ...{ sessionId: sessionId ?? null, source: "cli", principal: "operator", idempotencyKey: null },
    });
    if (!submitted.ok) throw new Error(submitted.message);
    const { runId } = submitted;
    const news = (await assistant.watch(runId, 0, new AbortController().signal)) ?? [];
    for await (const _ of news) {
      // To its end.
    }
    const record = await assistant.run(runId);
    const { entries } = await readWholeJournal(store, runId);
    const bundle = await assistant.bundle(runId);
    return {
      ...{ record, defects, sessionId: submitted.sessionId },
      /** As the model is told (S-3.2). */
      result: JSON.parse(told),
      audit: auditEvents(entries),
      /** Contract, journal and every body, as they are kept. */
      kept: bundle.ok ? bundle.text : "",
    };
  }

  async function decide(sessionId: SessionId, act: "grant" | "revoke", capability: string): Promise<void> {
    const decided = await runtime.capabilities.decide({
      ...{ sessionId, capability, act, expiresInS: null, principal: "operator", key: null },
    });
    if (!decided.ok) throw new Error(decided.message);
  }

  /** A session whose later runs have these. */
  async function sessionWith(...capabilities: readonly string[]): Promise<SessionId> {
    const { sessionId } = await propose({ name: "fs.list_dir", arguments: {} });
    for (const capability of capabilities) await decide(sessionId, "grant", capability);
    return sessionId;
  }

  return { home, propose, decide, sessionWith, modelPlace: new URL(server.baseUrl).host };
}

/** How many processes this thread has started since. */
export function countProcesses(): () => number {
  let count = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROCESSWRAP") count += 1;
    },
  });
  hook.enable();
  onTestFinished(() => {
    hook.disable();
  });
  return () => count;
}

/** Every place that this thread has tried to connect to since, `address:port`. */
export function watchConnects(): readonly string[] {
  const places: string[] = [];
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.on("connectionAttempt", (address: string, port: number) => places.push(`${address}:${port}`));
  };
  subscribe("net.client.socket", watch);
  onTestFinished(() => {
    unsubscribe("net.client.socket", watch);
  });
  return places;
}
