/** The contract of the wire: client and gateway share no code, so each method is driven through both. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGatewayClient } from "../../../src/adapters/gateway-client/create-gateway-client.ts";
import { GatewayClientError } from "../../../src/adapters/gateway-client/gateway-client-error.ts";
import type { Assistant, RunRequest, RunUpdate } from "../../../src/assistant/assistant.ts";
import type { Capability } from "../../../src/kernel/vocabulary/capability.ts";
import { asApprovalId, asHash, asRunId, asSessionId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { StoreError } from "../../../src/runtime/ports/store.ts";
import { PLAN_HASH } from "../gateway/memory-assistant.ts";
import { type RunningGateway, startGateway, TOKEN } from "../gateway/running-gateway.ts";

const NOBODY = asRunId("run_none");
const REQUEST: RunRequest = {
  agentId: "main",
  message: "hello \u0000 ü \u{1f600} \u2028",
  sessionId: null,
  model: "builtin:demo",
  thinkingMode: "always",
  thinkingLevel: "low",
  contract: {},
  approvedTools: [],
  source: "cli",
  principal: "somebody else",
  idempotencyKey: null,
};

async function both(): Promise<{ readonly gateway: RunningGateway; readonly client: Assistant }> {
  const gateway = await startGateway();
  return { gateway, client: clientOf(gateway.url) };
}

const clientOf = (url: string, token = TOKEN): Assistant =>
  createGatewayClient({ url, token, reconnectDelaysMs: [0, 0, 0] });

const never = (): AbortSignal => new AbortController().signal;

describe("every method says what the assistant behind the gateway says", () => {
  test("submit: all of the request arrives; source and principal are the gateway's", async () => {
    const { gateway, client } = await both();
    const request: RunRequest = {
      ...REQUEST,
      contract: {
        toolPolicy: "optional",
        allowedTools: ["fs.*", "shell.exec"],
        strictMode: false,
        tokenGate: true,
        maxInferences: 1,
        maxTokensConsumed: 2,
        maxOutputTokens: 3,
        maxFormatRetries: 1,
        maxSpendMicrousd: 5,
        stepTimeoutMs: 6,
        totalTimeoutMs: 7,
        requiredEffects: [{ tool: "fs.write_text", args: { path: "ü", deep: [{ a: null }] } }],
        cycleForbid: [["a", "b"]],
        contextBudget: { contextWindow: 8, reservedSystem: 9, reservedSynthesis: 10, forceSynthesisAtRatio: 0.5 },
        toolOutputBudget: { maxBytesPerCall: 11, truncationMarker: "[cut]", summarizerModel: "a:b" },
        grammarProfile: "json",
        grammar: "root ::= object",
        logitsMask: [0, 0.5],
        speculativeExec: true,
      },
      approvedTools: ["fs.write_text"],
      idempotencyKey: "key 1",
    };
    const submission = await client.submit(request);
    expect(submission).toEqual({
      ok: true,
      runId: "run_1",
      sessionId: "ses_1",
      status: "queued",
      isRepeat: false,
    });
    expect(gateway.assistant.requests).toEqual([{ ...request, source: "http", principal: "operator" }]);
    expect(await client.submit(request)).toEqual({ ...submission, isRepeat: true });
  });

  test("submit: a session is continued", async () => {
    const { client } = await both();
    await client.submit(REQUEST);
    const second = await client.submit({ ...REQUEST, sessionId: asSessionId("ses_1") });
    expect(second).toMatchObject({ ok: true, runId: "run_2", sessionId: "ses_1" });
  });

  test("submit: refusals come back as they were", async () => {
    const { gateway, client } = await both();
    expect(await client.submit({ ...REQUEST, sessionId: asSessionId("ses_9") })).toEqual({
      ok: false,
      code: "not_found",
      message: "no such session",
    });
    expect(await client.submit({ ...REQUEST, agentId: "nobody" })).toMatchObject({ code: "invalid.request" });
    await client.submit({ ...REQUEST, idempotencyKey: "k" });
    expect(await client.submit({ ...REQUEST, idempotencyKey: "k", message: "b" })).toMatchObject({ code: "conflict" });
    gateway.assistant.maxQueued = 0;
    expect(await client.submit(REQUEST)).toMatchObject({ ok: false, code: "queue.full" });
    expect(await client.submit({ ...REQUEST, message: "x".repeat(10_000_000) })).toMatchObject({
      ok: false,
      code: "payload.too_large",
    });
  });

  test("run, runs", async () => {
    const { gateway, client } = await both();
    const ids: RunId[] = [];
    for (let made = 0; made < 3; made += 1) ids.push(await gateway.queueRun());
    gateway.assistant.end(ids[0] as RunId);
    for (const id of [...ids, NOBODY]) expect(await client.run(id)).toEqual(await gateway.assistant.run(id));
    for (const filter of [
      { limit: 2, offset: 0 },
      { limit: 2, offset: 2 },
      { limit: 500, offset: 0, status: "completed" },
      { limit: 500, offset: 0, status: "failed" },
    ] as const) {
      expect(await client.runs(filter)).toMatchObject(await gateway.assistant.runs(filter));
    }
  });

  test("cancel, bundle", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    expect(await client.bundle(runId)).toEqual(await gateway.assistant.bundle(runId));
    expect(await client.cancel(runId, "somebody else")).toEqual({ ok: true, status: "cancelled" });
    expect(gateway.assistant.cancelledBy).toEqual(["operator"]);
    expect(await client.cancel(runId, "x")).toEqual({ ok: true, status: "cancelled" });
    expect(await client.bundle(runId)).toEqual(await gateway.assistant.bundle(runId));
    expect(await client.cancel(NOBODY, "x")).toMatchObject({ ok: false, code: "not_found" });
    expect(await client.bundle(NOBODY)).toMatchObject({ ok: false, code: "not_found" });
  });

  test("capabilities, pendingCapabilities, decideCapability", async () => {
    const { gateway, client } = await both();
    await client.submit(REQUEST);
    const sessionId = asSessionId("ses_1");
    const at = "2026-11-16T00:00:00.000Z";
    const known = { capability: "net" as Capability, by: "operator", at, expiresAt: at, runId: null };
    gateway.assistant.sessionCapabilities = {
      granted: [{ ...known, state: "granted" }],
      pending: [{ ...known, state: "pending", expiresAt: null, runId: asRunId("run_1") }],
    };
    expect(await client.capabilities(sessionId)).toEqual(await gateway.assistant.capabilities(sessionId));
    const decision = { sessionId, capability: "net", act: "grant", expiresInS: 60, principal: "x", key: "k" } as const;
    expect(await client.decideCapability(decision)).toEqual(await gateway.assistant.capabilities(sessionId));
    await client.decideCapability({ ...decision, act: "revoke", expiresInS: null, key: null });
    expect(gateway.assistant.capabilityDecisions).toEqual([
      { ...decision, principal: "operator" },
      { ...decision, act: "revoke", expiresInS: null, key: null, principal: "operator" },
    ]);
    gateway.assistant.askedFor = ["ses_1", "ses_2"].map((id) => {
      return { ...known, sessionId: asSessionId(id), state: "pending", runId: asRunId("run_1"), expiresAt: null };
    });
    for (const page of [
      { limit: 5, offset: 0 },
      { limit: 1, offset: 1 },
    ]) {
      expect(await client.pendingCapabilities(page)).toEqual(await gateway.assistant.pendingCapabilities(page));
    }
    const nowhere = { ...decision, sessionId: asSessionId("ses_9") };
    expect(await client.capabilities(nowhere.sessionId)).toMatchObject({ ok: false, code: "not_found" });
    expect(await client.decideCapability(nowhere)).toMatchObject({ ok: false, code: "not_found" });
  });

  test("marks, removeMark", async () => {
    const { gateway, client } = await both();
    gateway.assistant.marked = [".", "a ü/b.md"];
    expect(await client.marks()).toEqual([".", "a ü/b.md"]);
    expect(await client.removeMark("a ü/b.md", "x")).toEqual({ ok: true });
    expect(await client.removeMark("a ü/b.md", "x")).toMatchObject({ ok: false, code: "not_found" });
    expect([gateway.assistant.marked, gateway.assistant.unmarkedBy]).toEqual([["."], ["operator"]]);
  });

  test("approvals, decide", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    gateway.assistant.addCard(runId);
    gateway.assistant.addCard(runId, "resolve");
    for (const page of [
      { limit: 10, offset: 0 },
      { limit: 1, offset: 1 },
    ]) {
      expect(await client.approvals(page)).toEqual(await gateway.assistant.approvals(page));
    }
    const decision = { id: asApprovalId("apr_1"), decision: "deny", planHash: PLAN_HASH, principal: "x" } as const;
    expect(await client.decide(decision)).toEqual({ ok: true });
    expect(gateway.assistant.decisions).toEqual([{ ...decision, principal: "operator" }]);
    expect(await client.decide({ ...decision, planHash: asHash("0".repeat(64)) })).toMatchObject({ code: "conflict" });
    expect(await client.decide({ ...decision, id: asApprovalId("apr_9") })).toMatchObject({ code: "not_found" });
  });

  test("a run's id that is no path stays one", async () => {
    const { client } = await both();
    for (const id of ["../../healthz", "a/b", "?x=1", "#", "", " "]) expect(await client.run(asRunId(id))).toBeNull();
  });

  test("watch: events from where it was left, text as it is written, to the end", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    gateway.assistant.ask(runId);
    const news = await client.watch(runId, 1, never());
    const heard: RunUpdate[] = [];
    for await (const item of news ?? []) {
      heard.push(item);
      if (heard.length === 1) gateway.assistant.say(runId, "ü\n\ndata: x", 3);
      if (heard.length === 2) gateway.assistant.print(runId, "event: run.completed\n\n");
      if (heard.length === 3) gateway.assistant.wait(runId);
      if (heard.length === 4) gateway.assistant.end(runId);
    }
    expect(heard.map((item) => (item.kind === "event" ? item.event.event_type : item))).toEqual([
      "model.requested",
      { kind: "delta", attempt: 1, offset: 3, text: "ü\n\ndata: x" },
      { kind: "output", step: 1, callId: "call_1", stream: "stderr", offset: 7, text: "event: run.completed\n\n" },
      { kind: "wait", code: "provider.busy", waitMs: 1500 },
      "run.completed",
    ]);
    expect(await client.watch(NOBODY, 0, never())).toBeNull();
  });

  test("watch: after the last event there is nothing, and that is the end", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    gateway.assistant.end(runId);
    expect(await all(await client.watch(runId, 2, never()))).toEqual([]);
  });

  test("watch: called off or left, the gateway hears of it", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    const calledOff = new AbortController();
    for await (const _ of (await client.watch(runId, 0, calledOff.signal)) ?? []) calledOff.abort();
    for await (const _ of (await client.watch(runId, 0, never())) ?? []) break;
    expect(await all(await client.watch(runId, 0, AbortSignal.abort()))).toEqual([]);
    while (gateway.assistant.watching > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("a stream that breaks", () => {
  test("is taken up where it was, each event told once", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    gateway.assistant.ask(runId);
    gateway.assistant.end(runId);
    const { text } = await gateway.ask("GET", `/v1/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(await all(await client.watch(runId, 0, never()))).toHaveLength(3);
    const frames = text.split("\n\n");
    const asked: (string | undefined)[] = [];
    const flaky = await listen((incoming, outgoing) => {
      asked.push(incoming.headers["last-event-id"] as string);
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      // One more event each time, then the line goes dead in the middle of the next frame.
      outgoing.write(`${frames.slice(0, asked.length + 1).join("\n\n")}\n\nevent: run.comp`, () => outgoing.destroy());
    });
    const heard = await all(await clientOf(flaky).watch(runId, 0, never()));
    expect(heard.map((item) => item.kind === "event" && item.event.seq)).toEqual([1, 2, 3]);
    expect(asked).toEqual(["0", "1", "2"]);
  });

  test("because the gateway stops is tried again", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    const news = (await client.watch(runId, 0, never())) ?? [];
    const outcome = expect(all(news)).rejects.toMatchObject({ code: "gateway.unreachable" });
    while (gateway.assistant.watching === 0) await new Promise((resolve) => setImmediate(resolve));
    await gateway.close(60_000);
    await outcome;
  });

  test("again and again without progress is given up", async () => {
    let asked = 0;
    const url = await listen((_incoming, outgoing) => {
      asked += 1;
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.write(": hello\n\n", () => outgoing.destroy());
    });
    const watching = clientOf(url).watch(NOBODY, 0, never()).then(all);
    await expect(watching).rejects.toThrow(GatewayClientError);
    await expect(watching).rejects.toMatchObject({ code: "gateway.unreachable" });
    expect(asked).toBe(4);
  });

  test("by an error frame is tried again", async () => {
    let asked = 0;
    const url = await listen((_incoming, outgoing) => {
      asked += 1;
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end(asked === 1 ? 'event: error\ndata: {"error":{"code":"internal.error","message":"x"}}\n\n' : "");
    });
    expect(await all(await clientOf(url).watch(NOBODY, 0, never()))).toEqual([]);
    expect(asked).toBe(2);
  });

  test("by silence is a break too", async () => {
    let asked = 0;
    const url = await listen((_incoming, outgoing) => {
      asked += 1;
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.write(": hello\n\n");
      if (asked > 1) outgoing.end();
    });
    const client = createGatewayClient({ url, token: TOKEN, silenceMs: 200, reconnectDelaysMs: [0, 0, 0, 0, 0] });
    expect(await all(await client.watch(NOBODY, 0, never()))).toEqual([]);
    expect(asked).toBeGreaterThan(1);
  });
});

describe("a gateway that cannot be asked", () => {
  test("nothing listens there: gateway.unreachable, whatever is asked", async () => {
    const gateway = await startGateway();
    await gateway.close(0);
    const client = clientOf(gateway.url);
    for (const asking of [
      () => client.submit(REQUEST),
      () => client.run(NOBODY),
      () => client.runs({ limit: 1, offset: 0 }),
      () => client.watch(NOBODY, 0, never()),
      () => client.cancel(NOBODY, "x"),
      () => client.bundle(NOBODY),
      () => client.approvals({ limit: 1, offset: 0 }),
    ]) {
      const asked = asking();
      await expect(asked).rejects.toMatchObject({
        name: "GatewayClientError",
        code: "gateway.unreachable",
        hint: expect.stringContaining("surety start"),
      });
      await expect(asked).rejects.not.toThrow(TOKEN);
    }
  });

  test("it does not answer in time: gateway.unreachable", async () => {
    const url = await listen(() => {});
    const client = createGatewayClient({ url, token: TOKEN, timeoutMs: 20 });
    await expect(client.run(NOBODY)).rejects.toMatchObject({ code: "gateway.unreachable" });
    await expect(client.watch(NOBODY, 0, never())).rejects.toMatchObject({ code: "gateway.unreachable" });
  });

  test("its answer breaks off: gateway.unreachable", async () => {
    const url = await listen((_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-length": "1000" });
      outgoing.write("{", () => outgoing.destroy());
    });
    await expect(clientOf(url).run(NOBODY)).rejects.toMatchObject({ code: "gateway.unreachable" });
  });

  test("another token: gateway.unauthorized", async () => {
    const { url } = await startGateway();
    const client = clientOf(url, "another");
    await expect(client.submit(REQUEST)).rejects.toMatchObject({ code: "gateway.unauthorized" });
    await expect(client.watch(NOBODY, 0, never())).rejects.toMatchObject({ code: "gateway.unauthorized" });
  });

  test("a store that takes nothing is the store's error", async () => {
    const { gateway, client } = await both();
    gateway.assistant.failure = new StoreError("store.unavailable", "disk full");
    await expect(client.submit(REQUEST)).rejects.toThrow(StoreError);
    await expect(client.submit(REQUEST)).rejects.toMatchObject({ code: "store.unavailable" });
  });

  test.each([
    ["a page", 200, "<html>"],
    ["another JSON", 200, '{"id":1}'],
    ["a proxy's error", 502, "<html>Bad Gateway"],
    ["an error of another shape", 400, '{"message":"no"}'],
    ["an error without words", 400, "null"],
    ["an error we do not know", 418, '{"error":{"code":"teapot","message":"short and stout"}}'],
  ])("%s instead of an answer: gateway.unintelligible", async (_name, status, text) => {
    const url = await listen((_incoming, outgoing) => outgoing.writeHead(status).end(text));
    for (const asking of [
      () => clientOf(url).run(NOBODY),
      () => clientOf(url).submit(REQUEST),
      () => clientOf(url).runs({ limit: 1, offset: 0 }),
      () => clientOf(url).approvals({ limit: 1, offset: 0 }),
    ]) {
      await expect(asking()).rejects.toMatchObject({ code: "gateway.unintelligible" });
    }
  });

  test("an event that is none: gateway.unintelligible", async () => {
    const url = await listen((_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end('event: run.completed\nid: 1\ndata: {"event_type":"run.completed"}\n\n');
    });
    const watching = clientOf(url).watch(NOBODY, 0, never()).then(all);
    await expect(watching).rejects.toMatchObject({ code: "gateway.unintelligible" });
  });

  test("a redirect is not followed: the token stays here", async () => {
    const seen: unknown[] = [];
    const thief = await listen((incoming, outgoing) => {
      seen.push(incoming.headers);
      outgoing.end("{}");
    });
    const url = await listen((_incoming, outgoing) => outgoing.writeHead(307, { location: thief }).end());
    await expect(clientOf(url).run(NOBODY)).rejects.toThrow(GatewayClientError);
    expect(seen).toEqual([]);
  });
});

async function all(news: AsyncIterable<RunUpdate> | readonly RunUpdate[] | null): Promise<readonly RunUpdate[]> {
  const heard: RunUpdate[] = [];
  for await (const item of news ?? []) heard.push(item);
  return heard;
}

/** Something on a loopback port that is no gateway. */
async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
