/** The contract of the wire: every operation is driven through client and gateway, and compared with the call in process. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGatewayClient } from "../../../src/adapters/gateway-client/create-gateway-client.ts";
import { GatewayClientError, LOST } from "../../../src/adapters/gateway-client/gateway-client-error.ts";
import {
  bindOperations,
  type CallName,
  type InputOf,
  type OperationClient,
} from "../../../src/assistant/operations.ts";
import { type RunInput, runRequestOf } from "../../../src/assistant/runs/run-request.ts";
import type { RunUpdate } from "../../../src/assistant/runs/run-updates.ts";
import type { Capability } from "../../../src/kernel/vocabulary/capability.ts";
import { asApprovalId, asRunId, asSessionId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { cardFromWire } from "../../../src/runtime/approvals/operations.ts";
import { proveIdentity } from "../../../src/runtime/operations/gateway-identity.ts";
import { type Caller, scopesUpTo } from "../../../src/runtime/operations/operation.ts";
import { StoreError } from "../../../src/runtime/ports/store.ts";
import { PLAN_HASH, TOOL } from "../gateway/memory-assistant.ts";
import { type RunningGateway, startGateway, TOKEN } from "../gateway/running-gateway.ts";
import { at, IDENTITY, makeIdentity } from "../gateway/test-identity.ts";

const NO_RUN = asRunId("run_none");
const INPUT: RunInput = {
  agent_id: "main",
  message: "hello \u0000 ü \u{1f600} \u2028",
  model: "builtin:demo",
  thinking_mode: "always",
  thinking_level: "low",
};

interface Both {
  readonly gateway: RunningGateway;
  readonly client: OperationClient;
  /** The same operations in process. */
  readonly local: OperationClient;
}

async function both(): Promise<Both> {
  const gateway = await startGateway();
  return { gateway, client: clientOf(gateway.url), local: bindOperations(gateway.assistant.services) };
}

const clientOf = (url: string, token = TOKEN): OperationClient =>
  createGatewayClient({ ...at(url), token, reconnectDelaysMs: [0, 0, 0] });

const never = (): AbortSignal => new AbortController().signal;
const keyed = (idempotencyKey: string): Caller => ({
  ...{ principal: "somebody else", source: "cli", idempotencyKey },
  ...{ scopes: scopesUpTo("admin"), sender: null },
});

/** Through the client the same as in process. */
async function sameAs<Name extends CallName>({ client, local }: Both, name: Name, input: InputOf<Name>): Promise<void> {
  expect(await client.call(name, input)).toMatchObject((await local.call(name, input)) as object);
}

async function watch(client: OperationClient, id: RunId, after: number, signal = never()) {
  const subscription = await client.subscribe("runs.events", { id }, String(after), signal);
  if (!subscription.ok) throw new Error(subscription.code);
  return subscription.updates;
}

describe("every operation answers as it does in process", () => {
  test("runs.create: all of the input arrives; source and principal are the gateway's", async () => {
    const { gateway, client } = await both();
    const input: RunInput = {
      ...INPUT,
      contract: {
        tool_policy: "optional",
        allowed_tools: ["fs.*", "shell.exec"],
        strict_mode: false,
        token_gate: true,
        max_inferences: 1,
        max_tokens_consumed: 2,
        max_output_tokens: 3,
        max_format_retries: 1,
        max_spend_microusd: 5,
        step_timeout_ms: 6,
        total_timeout_ms: 7,
        required_effects: [{ tool: "fs.write_text", args: { path: "ü", deep: [{ a: null }] } }],
        cycle_forbid: [["a", "b"]],
        context_budget: {
          context_window: 8,
          reserved_system: 9,
          reserved_synthesis: 10,
          force_synthesis_at_ratio: 0.5,
        },
        tool_output_budget: { max_bytes_per_call: 11, truncation_marker: "[cut]", summarizer_model: "a:b" },
        grammar_profile: "json",
        grammar: "root ::= object",
        logits_mask: [0, 0.5],
        speculative_exec: true,
      },
      approved_tools: ["fs.write_text"],
    };
    const created = await client.call("runs.create", input, keyed("key 1"));
    const value = { id: "run_1", session_id: "ses_1", status: "queued" };
    expect(created).toEqual({ ok: true, value, isReplay: false });
    const { principal, source, ...asked } = runRequestOf(input, keyed("key 1"));
    expect([principal, source]).toEqual(["somebody else", "cli"]);
    expect(gateway.assistant.requests).toEqual([{ ...asked, source: "http", principal: "operator" }]);
    expect(await client.call("runs.create", input, keyed("key 1"))).toEqual({ ok: true, value, isReplay: true });
  });

  test("runs.create: a session is continued", async () => {
    const { client } = await both();
    await client.call("runs.create", INPUT);
    const second = await client.call("runs.create", { ...INPUT, session_id: "ses_1" });
    expect(second).toMatchObject({ ok: true, value: { id: "run_2", session_id: "ses_1" } });
  });

  test("runs.create: refusals come back unchanged", async () => {
    const { gateway, client } = await both();
    const create = (also: Partial<RunInput>, key: string | null = null) =>
      client.call("runs.create", { ...INPUT, ...also }, key === null ? undefined : keyed(key));
    expect(await create({ session_id: "ses_9" })).toEqual({ ok: false, code: "not_found", message: "no such session" });
    expect(await create({ agent_id: "nobody" })).toMatchObject({ code: "invalid.request" });
    await create({}, "k");
    expect(await create({ message: "b" }, "k")).toMatchObject({ code: "conflict" });
    gateway.assistant.maxQueued = 0;
    expect(await create({})).toMatchObject({ ok: false, code: "queue.full" });
    expect(await create({ message: "x".repeat(10_000_000) })).toMatchObject({ ok: false, code: "payload.too_large" });
  });

  test("runs.get, runs.list", async () => {
    const scene = await both();
    const ids: RunId[] = [];
    for (let made = 0; made < 3; made += 1) ids.push(await scene.gateway.queueRun());
    scene.gateway.assistant.end(ids[0] as RunId);
    for (const id of [...ids, NO_RUN]) await sameAs(scene, "runs.get", { id });
    for (const filter of [
      {},
      { limit: 2, offset: 0 },
      { limit: 2, offset: 2 },
      { limit: 500, offset: 0, status: "completed" },
      { limit: 500, offset: 0, status: "failed" },
    ] as const) {
      await sameAs(scene, "runs.list", filter);
    }
  });

  test("runs.cancel, runs.bundle", async () => {
    const scene = await both();
    const { gateway, client } = scene;
    const id = await gateway.queueRun();
    await sameAs(scene, "runs.bundle", { id });
    expect(await client.call("runs.cancel", { id })).toMatchObject({ ok: true, value: { id, status: "cancelled" } });
    expect(gateway.assistant.cancelledBy).toEqual(["operator"]);
    for (const each of [id, NO_RUN]) {
      await sameAs(scene, "runs.cancel", { id: each });
      await sameAs(scene, "runs.bundle", { id: each });
    }
  });

  test("capabilities.list, capabilities.decide", async () => {
    const scene = await both();
    const { gateway, client } = scene;
    await client.call("runs.create", INPUT);
    const at = "2026-11-16T00:00:00.000Z";
    const known = { capability: "net" as Capability, by: "operator", at, expiresAt: at, runId: null };
    gateway.assistant.sessionCapabilities = {
      granted: [{ ...known, state: "granted" }],
      pending: [{ ...known, state: "pending", expiresAt: null, runId: asRunId("run_1") }],
    };
    await sameAs(scene, "capabilities.list", { session_id: "ses_1" });
    const grant = { session_id: "ses_1", grant: "net", expires_in_s: 60 };
    const decided = await client.call("capabilities.decide", grant, keyed("k"));
    expect(decided).toMatchObject(await scene.local.call("capabilities.list", { session_id: "ses_1" }));
    await client.call("capabilities.decide", { session_id: "ses_1", revoke: "net" });
    const decision = { sessionId: "ses_1", capability: "net", principal: "operator" };
    expect(gateway.assistant.capabilityDecisions).toEqual([
      { ...decision, act: "grant", expiresInS: 60, key: "k" },
      { ...decision, act: "revoke", expiresInS: null, key: null },
    ]);
    gateway.assistant.askedFor = ["ses_1", "ses_2"].map((id) => {
      return { ...known, sessionId: asSessionId(id), state: "pending", runId: asRunId("run_1"), expiresAt: null };
    });
    for (const page of [{}, { limit: 5, offset: 0 }, { limit: 1, offset: 1 }]) {
      await sameAs(scene, "capabilities.list", page);
    }
    await sameAs(scene, "capabilities.list", { session_id: "ses_9" });
    await sameAs(scene, "capabilities.decide", { ...grant, session_id: "ses_9" });
  });

  test("marks.list, marks.remove", async () => {
    const scene = await both();
    const { gateway, client } = scene;
    gateway.assistant.marked = [".", "a ü/b.md"];
    await sameAs(scene, "marks.list", {});
    const remove = { remove: "a ü/b.md" };
    expect(await client.call("marks.remove", remove)).toMatchObject({ ok: true, value: { marks: ["."] } });
    expect(await client.call("marks.remove", remove)).toMatchObject({ ok: false, code: "not_found" });
    expect([gateway.assistant.marked, gateway.assistant.unmarkedBy]).toEqual([["."], ["operator"]]);
  });

  test("tools.list", async () => {
    const scene = await both();
    await sameAs(scene, "tools.list", {});
    expect(await scene.client.call("tools.list", {})).toMatchObject({ value: { tools: [TOOL] } });
  });

  test("approvals.list, approvals.decide", async () => {
    const scene = await both();
    const { gateway, client } = scene;
    const runId = await gateway.queueRun();
    const card = gateway.assistant.addCard(runId);
    gateway.assistant.addCard(runId, "resolve");
    for (const page of [{}, { limit: 10, offset: 0 }, { limit: 1, offset: 1 }]) {
      await sameAs(scene, "approvals.list", page);
    }
    const listed = await client.call("approvals.list", {});
    expect(listed.ok && listed.value.approvals.map(cardFromWire)[0]).toEqual(card);
    const decision = { id: card.id, decision: "deny", plan_hash: PLAN_HASH } as const;
    expect(await client.call("approvals.decide", decision)).toMatchObject({
      ok: true,
      value: { id: card.id, decision: "deny" },
    });
    expect(gateway.assistant.decisions).toEqual([
      { id: card.id, decision: "deny", planHash: PLAN_HASH, principal: "operator" },
    ]);
    await sameAs(scene, "approvals.decide", { ...decision, plan_hash: "0".repeat(64) });
    await sameAs(scene, "approvals.decide", { ...decision, id: asApprovalId("apr_9") });
  });

  test("an id that is no path stays one", async () => {
    const { client } = await both();
    for (const id of ["../../healthz", "a/b", "?x=1", "#", "", " "]) {
      expect(await client.call("runs.get", { id: asRunId(id) })).toMatchObject({ ok: false, code: "not_found" });
    }
  });

  test("runs.events: events from the given one on, text as it is written, to the end", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    gateway.assistant.ask(runId);
    const seen: RunUpdate[] = [];
    for await (const update of await watch(client, runId, 1)) {
      seen.push(update);
      if (seen.length === 1) gateway.assistant.say(runId, "ü\n\ndata: x", 3);
      if (seen.length === 2) gateway.assistant.print(runId, "event: run.completed\n\n");
      if (seen.length === 3) gateway.assistant.wait(runId);
      if (seen.length === 4) gateway.assistant.end(runId);
    }
    expect(seen.map((update) => (update.kind === "event" ? update.event.event_type : update))).toEqual([
      "model.requested",
      { kind: "delta", attempt: 1, offset: 3, text: "ü\n\ndata: x" },
      { kind: "output", step: 1, callId: "call_1", stream: "stderr", offset: 7, text: "event: run.completed\n\n" },
      { kind: "wait", code: "provider.busy", waitMs: 1500 },
      "run.completed",
    ]);
    const unknown = await client.subscribe("runs.events", { id: NO_RUN }, null, never());
    expect(unknown).toEqual({ ok: false, code: "not_found", message: "no such run" });
  });

  test("runs.events: after the last event the stream is over", async () => {
    const { gateway, client } = await both();
    const id = await gateway.queueRun();
    gateway.assistant.end(id);
    expect(await client.subscribe("runs.events", { id }, "2", never())).toMatchObject({ ok: true, isOver: true });
    expect(await all(await watch(client, id, 2))).toEqual([]);
  });

  test("runs.events: aborted or left, the gateway drops the subscription", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    const aborted = new AbortController();
    for await (const _ of await watch(client, runId, 0, aborted.signal)) aborted.abort();
    for await (const _ of await watch(client, runId, 0)) break;
    expect(await all(await watch(client, runId, 0, AbortSignal.abort()))).toEqual([]);
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
    expect(await all(await watch(client, runId, 0))).toHaveLength(3);
    const frames = text.split("\n\n");
    const asked: (string | undefined)[] = [];
    const flaky = await listen((incoming, outgoing) => {
      asked.push(incoming.headers["last-event-id"] as string);
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      // One more event each time, then the line goes dead in the middle of the next frame.
      outgoing.write(`${frames.slice(0, asked.length + 1).join("\n\n")}\n\nevent: run.comp`, () => outgoing.destroy());
    });
    const heard = await all(await watch(clientOf(flaky), runId, 0));
    expect(heard.map((item) => item.kind === "event" && item.event.seq)).toEqual([1, 2, 3]);
    expect(asked).toEqual(["0", "1", "2"]);
  });

  test("because the gateway stops is tried again", async () => {
    const { gateway, client } = await both();
    const runId = await gateway.queueRun();
    const updates = await watch(client, runId, 0);
    const outcome = expect(all(updates)).rejects.toMatchObject({ code: "gateway.lost", message: LOST });
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
    const watching = watch(clientOf(url), NO_RUN, 0).then(all);
    await expect(watching).rejects.toThrow(GatewayClientError);
    await expect(watching).rejects.toMatchObject({ code: "gateway.lost" });
    expect(asked).toBe(4);
  });

  test("by an error frame is tried again", async () => {
    let asked = 0;
    const url = await listen((_incoming, outgoing) => {
      asked += 1;
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end(asked === 1 ? 'event: error\ndata: {"error":{"code":"internal.error","message":"x"}}\n\n' : "");
    });
    expect(await all(await watch(clientOf(url), NO_RUN, 0))).toEqual([]);
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
    const client = createGatewayClient({
      ...at(url),
      token: TOKEN,
      silenceMs: 200,
      reconnectDelaysMs: [0, 0, 0, 0, 0],
    });
    expect(await all(await watch(client, NO_RUN, 0))).toEqual([]);
    expect(asked).toBeGreaterThan(1);
  });
});

describe("what did not prove that it is the gateway gets no token", () => {
  /** Answers the challenge so; everything that reaches it is kept. */
  async function squat(answerWith: (nonce: string, url: string) => Promise<string> | string) {
    const seen: string[] = [];
    const own: { url: string } = { url: "" };
    const server = createServer(async (incoming, outgoing) => {
      seen.push(JSON.stringify([incoming.url, incoming.headers]));
      const nonce = /nonce=(.*)$/.exec(incoming.url ?? "")?.[1] ?? "";
      outgoing.end(await answerWith(nonce, own.url));
    });
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    own.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { url: own.url, seen };
  }

  test.each<[string, (nonce: string, url: string) => Promise<string> | string]>([
    ["a server that says yes to everything", () => '{"ok":true}'],
    ["a page", () => "<html>"],
    ["another home's gateway", (nonce, url) => JSON.stringify(proveIdentity(makeIdentity(), url, nonce))],
    [
      "another home's gateway under this one's name",
      (nonce, url) => JSON.stringify({ ...proveIdentity(makeIdentity(), url, nonce), public_key: IDENTITY.publicKey }),
    ],
    ["an answer from before", (_, url) => JSON.stringify(proveIdentity(IDENTITY, url, "x".repeat(43)))],
    [
      "a relay of the real one",
      async (nonce) => {
        const gateway = await startGateway();
        return (await gateway.ask("GET", `/v1/identity?nonce=${nonce}`)).text;
      },
    ],
    [
      "a relay that says its own address",
      async (nonce, url) => {
        const gateway = await startGateway();
        const { text } = await gateway.ask("GET", `/v1/identity?nonce=${nonce}`);
        return JSON.stringify({ ...JSON.parse(text), url });
      },
    ],
  ])("%s", async (_name, answerWith) => {
    const { url, seen } = await squat(answerWith);
    const client = clientOf(url);
    await expect(client.call("runs.create", INPUT)).rejects.toMatchObject({ code: "gateway.unproven" });
    await expect(watch(client, NO_RUN, 0)).rejects.toMatchObject({ code: "gateway.unproven" });
    expect(seen).toHaveLength(2);
    expect(seen.join()).not.toContain(TOKEN);
    expect(seen.join()).not.toContain("authorization");
    expect(seen.join()).not.toContain(INPUT.message.slice(0, 5));
  });

  test("nor does a program that takes the port after the gateway has died, and a gateway elsewhere is found again", async () => {
    const first = await startGateway();
    const second = await startGateway({ assistant: first.assistant });
    const runId = await first.queueRun();
    const thief = await squat(() => "{}");
    let url = first.url;
    const states: string[] = [];
    const client = createGatewayClient({
      ...at(""),
      find: () => Promise.resolve(url),
      token: TOKEN,
      reconnectDelaysMs: [0, 0, 0, 0],
      onConnection: (state) => {
        states.push(state);
        if (state === "back") return;
        url = second.url;
        first.assistant.end(runId);
      },
    });
    const updates = all(await watch(client, runId, 0));
    while (first.assistant.watching === 0) await new Promise((resolve) => setImmediate(resolve));
    url = thief.url;
    await first.close(60_000);
    const heard = await updates;
    expect(heard.map((item) => item.kind === "event" && item.event.seq)).toEqual(heard.map((_, index) => index + 1));
    expect(states).toEqual(["lost", "back"]);
    expect(thief.seen.length).toBeGreaterThan(0);
    expect(thief.seen.join()).not.toContain(TOKEN);
  });
});

describe("a gateway that cannot be asked", () => {
  test("nothing listens there: gateway.unreachable, whatever is asked", async () => {
    const gateway = await startGateway();
    await gateway.close(0);
    const client = clientOf(gateway.url);
    for (const asking of [
      () => client.call("runs.create", INPUT),
      () => client.call("runs.get", { id: NO_RUN }),
      () => client.call("runs.list", { limit: 1 }),
      () => watch(client, NO_RUN, 0),
      () => client.call("runs.cancel", { id: NO_RUN }),
      () => client.call("runs.bundle", { id: NO_RUN }),
      () => client.call("approvals.list", { limit: 1 }),
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
    const client = createGatewayClient({ ...at(url), token: TOKEN, timeoutMs: 20 });
    await expect(client.call("runs.get", { id: NO_RUN })).rejects.toMatchObject({ code: "gateway.unreachable" });
    await expect(watch(client, NO_RUN, 0)).rejects.toMatchObject({ code: "gateway.unreachable" });
  });

  test("its answer breaks off: gateway.unreachable", async () => {
    const url = await listen((_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-length": "1000" });
      outgoing.write("{", () => outgoing.destroy());
    });
    await expect(clientOf(url).call("runs.get", { id: NO_RUN })).rejects.toMatchObject({ code: "gateway.unreachable" });
  });

  test("another token: gateway.unauthorized", async () => {
    const { url } = await startGateway();
    const client = clientOf(url, "another");
    await expect(client.call("runs.create", INPUT)).rejects.toMatchObject({ code: "gateway.unauthorized" });
    await expect(watch(client, NO_RUN, 0)).rejects.toMatchObject({ code: "gateway.unauthorized" });
  });

  test("a store that takes nothing is the store's error", async () => {
    const { gateway, client } = await both();
    gateway.assistant.failure = new StoreError("store.unavailable", "disk full");
    await expect(client.call("runs.create", INPUT)).rejects.toThrow(StoreError);
    await expect(client.call("runs.create", INPUT)).rejects.toMatchObject({ code: "store.unavailable" });
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
      () => clientOf(url).call("runs.get", { id: NO_RUN }),
      () => clientOf(url).call("runs.create", INPUT),
      () => clientOf(url).call("runs.list", { limit: 1 }),
      () => clientOf(url).call("approvals.list", { limit: 1 }),
    ]) {
      await expect(asking()).rejects.toMatchObject({ code: "gateway.unintelligible" });
    }
  });

  test("an event that is none: gateway.unintelligible", async () => {
    const url = await listen((_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end('event: run.completed\nid: 1\ndata: {"event_type":"run.completed"}\n\n');
    });
    const watching = watch(clientOf(url), NO_RUN, 0).then(all);
    await expect(watching).rejects.toMatchObject({ code: "gateway.unintelligible" });
  });

  test("a redirect is not followed: the token stays here", async () => {
    const seen: unknown[] = [];
    const thief = await listen((incoming, outgoing) => {
      seen.push(incoming.headers);
      outgoing.end("{}");
    });
    const url = await listen((_incoming, outgoing) => outgoing.writeHead(307, { location: thief }).end());
    await expect(clientOf(url).call("runs.get", { id: NO_RUN })).rejects.toThrow(GatewayClientError);
    expect(seen).toEqual([]);
  });
});

async function all(updates: AsyncIterable<RunUpdate>): Promise<readonly RunUpdate[]> {
  const seen: RunUpdate[] = [];
  for await (const update of updates) seen.push(update);
  return seen;
}

/** Something on a loopback port that holds the home's key and is no gateway otherwise. */
async function listen(listener: RequestListener): Promise<string> {
  const own: { url: string } = { url: "" };
  const server = createServer((incoming, outgoing) => {
    const nonce = /^\/v1\/identity\?nonce=(.*)$/.exec(incoming.url ?? "")?.[1];
    if (nonce === undefined) listener(incoming, outgoing);
    else outgoing.end(JSON.stringify(proveIdentity(IDENTITY, own.url, nonce)));
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  own.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return own.url;
}
