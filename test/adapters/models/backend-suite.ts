/** What every backend of a wire protocol owes its port, on a server that speaks it. */
import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { configureModel } from "../../../src/adapters/models/configure-model.ts";
import { MAX_BODY_BYTES } from "../../../src/adapters/models/http-exchange.ts";
import type { ConfiguredModel, ModelReply, ModelRequest } from "../../../src/runtime/ports/model-backend.ts";
import { answer, html, json, type Reply } from "../../loopback/openai-server.ts";
import type { ScriptedRequest, ScriptedServer, ServerOptions } from "../../loopback/scripted-server.ts";
import { verifies } from "../../requirements.ts";
import { type ManualClock, manualClock } from "./manual-clock.ts";

const NEVER = new Promise<never>(() => {});
const KEY = "sk-loopback-0123456789abcdef";
const read = { name: "fs.read_text", arguments: { path: "a.txt" } };
const tools = [{ name: "fs.read_text", description: "Read.", parameters: { type: "object" } }];
const request: ModelRequest = {
  model: "scripted",
  messages: [{ role: "user", content: "Read a.txt" }],
  tools,
  toolChoice: "auto",
  maxOutputTokens: 64,
};

interface Serving {
  readonly apiKey?: string | (() => string | null) | null;
  readonly profile?: "native-tools" | "marker-json";
  readonly models?: () => Reply;
}

type Script = (request: ScriptedRequest<unknown>, index: number) => Reply;

export interface BackendWire {
  readonly kind: "openai_compatible" | "anthropic";
  start(script: Script, options: ServerOptions): Promise<ScriptedServer<unknown>>;
  /** The header that holds a key. */
  identify(key: string): readonly [string, string];
  /** Its word for a stop at tool calls. */
  readonly toolStop: string;
  /** How many events of a stream there are up to the first with text. */
  readonly eventsToText: number;
  /** An answer `Hi`. */
  readonly document: object;
  /** A document that tells of an error. */
  failure(message: string): object;
}

export function testBackend(wire: BackendWire): void {
  const servers: ScriptedServer<unknown>[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  describe("answers", () => {
    verifies(
      ["S-7.1/chat", "S-7.1/stream_chat"],
      "a completion comes as one document, or in pieces when somebody listens",
      async () => {
        const { server, model } = await serve(() => answer({ text: "Hello there, friend.", calls: [read] }));
        const whole = await complete(model);
        const pieces: string[] = [];
        const streamed = await complete(model, { onText: (text) => pieces.push(text) });
        expect(pieces.length).toBeGreaterThan(1);
        expect(pieces.join("")).toBe("Hello there, friend.");
        for (const reply of [whole, streamed]) {
          expect(reply).toMatchObject({
            ok: true,
            raw: {
              content: "Hello there, friend.",
              toolCalls: [{ id: "call_1", name: "fs__read_text", argumentsText: '{"path":"a.txt"}' }],
              stopReason: wire.toolStop,
              model: "scripted-1",
              complete: true,
            },
            usage: { inputTokens: 12, outputTokens: 7 },
          });
        }
        expect(server.requests.map(({ body }) => body)).toMatchObject([{ stream: false }, { stream: true }]);
        expect(server.requests[1]?.body).toMatchObject({ model: "scripted", max_tokens: 64 });
      },
    );

    test("connections are kept, whether streamed over or not", async () => {
      const { server, model } = await serve(() => answer({ text: "Hi" }));
      for (let turn = 0; turn < 12; turn += 1) await complete(model, { onText: turn % 2 === 0 ? null : () => {} });
      await model.backend.check(new AbortController().signal);
      expect(server.requests).toHaveLength(12);
      // A second one is opened for a request that comes before the library has put the first one back.
      expect(server.connections).toBeLessThanOrEqual(2);
    });

    test("a key is sent when there is one, asked for each time, and no header without", async () => {
      let key: string | null = null;
      const { server, model } = await serve(() => answer({ text: "Hi" }), { apiKey: () => key });
      await complete(model);
      key = KEY;
      await complete(model);
      await model.backend.check(new AbortController().signal);
      const [name, value] = wire.identify(KEY);
      expect(server.requests.map(({ headers }) => headers[name])).toEqual([undefined, value]);
      expect(server.checks[0]?.[name]).toBe(value);
    });

    test.each(["", "two words", "line\r\nx-evil: 1"])("%j is no key: nothing is sent", async (apiKey) => {
      const { server, model } = await serve(() => answer({ text: "Hi" }), { apiKey });
      expect(await complete(model)).toEqual(unanswered("provider.invalid-key"));
      expect((await model.backend.check(new AbortController().signal)).responsive).toBe(false);
      expect(server.connections).toBe(0);
    });

    test("a server that never streams is read all the same", async () => {
      const { model } = await serve(() => json(200, wire.document));
      let heard = "";
      const onText = (text: string) => {
        heard += text;
      };
      expect(await complete(model, { onText })).toMatchObject({ ok: true, raw: { content: "Hi", complete: true } });
      expect(heard).toBe("Hi");
    });

    test("a server that says it is done and then hangs is left after a while", async () => {
      const { server, clock, model } = await serve(() => answer({ text: "Hi", cut: { by: "reset", after: NEVER } }));
      const pending = complete(model, { onText: () => {} });
      await clock.armed;
      clock.pass(1_000);
      expect(await pending).toMatchObject({ ok: true, raw: { content: "Hi", complete: true } });
      expect(await server.requests[0]?.closed).toBe("by-client");
    });

    test("what the listener throws reaches the caller, and the request ends", async () => {
      const { server, model } = await serve(() =>
        answer({ text: "Hi", cut: { by: "reset", after: NEVER, events: wire.eventsToText } }),
      );
      const onText = () => {
        throw new RangeError("ours");
      };
      await expect(complete(model, { onText })).rejects.toThrow(RangeError);
      expect(await server.requests[0]?.closed).toBe("by-client");
    });
  });

  describe("faults", () => {
    const start = Date.UTC(2026, 0, 1);
    const limited = (after: string) => json(429, { error: { message: `no, ${KEY}` } }, { "retry-after": after });
    const retryable = (code: string) => ({ ...faulty(code), retryable: true });
    const turnedAway = (code: string, retryAfterMs = 0) => ({ ...unanswered(code), retryable: true, retryAfterMs });
    test.each<[string, Reply, object]>([
      ["429", json(429, {}), turnedAway("provider.rate-limited")],
      ["429 in seconds", limited("7"), turnedAway("provider.rate-limited", 7_000)],
      ["429 in parts of a second", limited("0.25"), turnedAway("provider.rate-limited", 250)],
      ["429 until a date", limited(new Date(start + 5_000).toUTCString()), turnedAway("provider.rate-limited", 5_000)],
      ["429 until the past", limited("Wed, 21 Oct 2015 07:28:00 GMT"), turnedAway("provider.rate-limited")],
      ["429 for a minute", limited("60"), turnedAway("provider.rate-limited", 60_000)],
      ["429 for a week", limited("604800"), { ...unanswered("provider.rate-limited"), retryAfterMs: 604_800_000 }],
      [
        "429 for ever",
        limited("9".repeat(400)),
        { ...unanswered("provider.rate-limited"), retryAfterMs: 31_622_400_000 },
      ],
      [
        "503 for an hour",
        json(503, {}, { "retry-after": "3600" }),
        { ...unanswered("provider.http-503"), retryAfterMs: 3_600_000 },
      ],
      ["429 for nonsense", limited("soon"), turnedAway("provider.rate-limited")],
      ["500", json(500, { error: { message: KEY } }), turnedAway("provider.http-500")],
      ["503 with a wish", json(503, {}, { "retry-after": "2" }), turnedAway("provider.http-503", 2_000)],
      ["an HTML 502", html(502), turnedAway("provider.http-502")],
      ["400", json(400, { error: { message: KEY } }), unanswered("provider.http-400")],
      ["401", json(401, { error: { message: KEY } }), unanswered("provider.http-401")],
      ["404", html(404), unanswered("provider.http-404")],
      ["a redirect", json(302, {}, { location: "http://127.0.0.1:1/" }), unanswered("provider.http-302")],
      ["204", { kind: "http", status: 204 }, unanswered("provider.http-204")],
      ["an HTML 200", html(200), unanswered("provider.unreadable")],
      ["a 200 that is no JSON", { kind: "http", status: 200, body: "{'a" }, unanswered("provider.unreadable")],
      ["a 200 without a body", { kind: "http", status: 200 }, unanswered("provider.unreadable")],
      ["an error under 200", json(200, wire.failure(KEY)), unanswered("provider.failed")],
      ["a reset at once", { kind: "reset" }, retryable("provider.connection-lost")],
      ["an end at once", { kind: "bytes", bytes: "" }, retryable("provider.connection-lost")],
      ["no HTTP", { kind: "bytes", bytes: "SSH-2.0-OpenSSH_9.2\r\n" }, unanswered("provider.unreadable")],
      [
        "an endless head",
        { kind: "bytes", bytes: `HTTP/1.1 200 OK\r\nx: ${"y".repeat(99_999)}` },
        unanswered("provider.unreadable"),
      ],
      ["half a head", { kind: "bytes", bytes: "HTTP/1.1 200 OK\r\ncontent-" }, retryable("provider.connection-lost")],
      ["a head and an end", answer({ text: "Hi", cut: { bytes: 0, by: "end" } }), retryable("provider.cut-off")],
    ])("%s", async (_, reply, expected) => {
      const { server, model } = await serve(() => reply, { apiKey: KEY });
      for (const onText of [null, () => {}]) {
        const result = await complete(model, { onText });
        const { words: _, ...without } = { words: "", ...result };
        expect(without).toEqual(expected);
        expect(JSON.stringify(result)).not.toContain(KEY);
      }
      expect(server.requests).toHaveLength(2);
    });

    const long = "model not found ".repeat(100);
    test.each<[string, Reply, string | undefined]>([
      [
        "an error with a message",
        json(404, { error: { message: `no\nmodel \u0000 x, ${KEY}` } }),
        "no model x, [API key]",
      ],
      ["an error that is a text", json(404, { error: "model 'x' not found" }), "model 'x' not found"],
      ["a message", json(422, { message: "wrong" }), "wrong"],
      ["a detail", json(422, { detail: "wrong" }), "wrong"],
      ["plain text", { kind: "http", status: 404, body: "no such model\n" }, "no such model"],
      ["a page", html(404), undefined],
      ["half a document", { kind: "http", status: 404, body: '{"error": {"mess' }, undefined],
      ["nothing", { kind: "http", status: 404 }, undefined],
      ["very much", json(404, { error: { message: long } }), long.slice(0, 500)],
      ["an error under 200", json(200, wire.failure("no such model")), "no such model"],
    ])("the provider's own words are kept: %s", async (_, reply, words) => {
      const { model } = await serve(() => reply, { apiKey: KEY });
      for (const onText of [null, () => {}])
        expect((await complete(model, { onText })) as object).toHaveProperty("ok", false);
      const result = await complete(model);
      expect("words" in result ? result.words : undefined).toBe(words);
    });

    test("nobody listens", async () => {
      const server = await wire.start(() => answer({ text: "Hi" }), {});
      await server.close();
      const model = modelAt(server.baseUrl);
      expect(await complete(model)).toEqual(turnedAway("provider.unreachable"));
      expect(await complete(modelAt("http://no-such-host.invalid/v1"))).toEqual(turnedAway("provider.unreachable"));
    });

    test("a kept connection that the server gave up is not tried again in secret", async () => {
      const { server, model } = await serve((_, index) => (index === 1 ? { kind: "reset" } : answer({ text: "Hi" })));
      await complete(model);
      expect(await complete(model)).toEqual(retryable("provider.connection-lost"));
      expect(server.requests).toHaveLength(2);
      expect(await complete(model)).toMatchObject({ ok: true });
    });

    test.each(["reset", "end"] as const)("a document that breaks off by %s", async (by) => {
      const { model } = await serve(() => answer({ calls: [read], cut: { bytes: 40, by } }));
      const reply = await complete(model);
      expect(reply).toMatchObject({ ok: false, code: "provider.cut-off" });
    });

    test.each(["reset", "end"] as const)(
      "a stream that breaks off by %s after any event holds no call to act on",
      async (by) => {
        const script = { text: "Let me look.", calls: [read], dialect: { pieceChars: 5 } };
        for (let events = wire.eventsToText; events < wire.eventsToText + 8; events += 1) {
          let hasHeard = () => {};
          const after = new Promise<void>((resolve) => {
            hasHeard = resolve;
          });
          const { model } = await serve(() => answer({ ...script, cut: { events, by, after } }));
          const reply = await complete(model, { onText: () => hasHeard() });
          expect(reply).toMatchObject({ ok: true, raw: { complete: false } });
        }
      },
    );

    test("a body without an end is left at the limit", async () => {
      const { server, model } = await serve(() =>
        answer({ text: "x".repeat(MAX_BODY_BYTES), cut: { by: "end", after: NEVER } }),
      );
      expect(await complete(model, { maxOutputTokens: 1_000_000 })).toEqual(faulty("provider.too-large"));
      expect(await server.requests[0]?.closed).toBe("by-client");
    });

    test.each([true, false])("an answer far longer than was asked for is left; streamed: %s", async (isStreamed) => {
      const { server, clock, model } = await serve(() =>
        answer({ text: "x".repeat(1_000_000), dialect: { pieceChars: 1_000 }, cut: { by: "end", after: NEVER } }),
      );
      let heard = 0;
      const onText = (text: string): void => {
        heard += text.length;
      };
      const pending = complete(model, { onText: isStreamed ? onText : null });
      await clock.armed;
      clock.pass(1_000);
      expect(await pending).toEqual(faulty("provider.too-long"));
      expect(heard).toBeLessThanOrEqual(request.maxOutputTokens * 64 + 65_536);
      expect(await server.requests[0]?.closed).toBe("by-client");
    });
  });

  describe("cancel", () => {
    test.each<[string, Reply]>([
      ["before the head", { kind: "hang" }],
      ["after the head", { kind: "hang", withHead: true }],
    ])("%s", async (_, reply) => {
      const { server, model } = await serve(() => reply);
      for (const onText of [null, () => {}]) {
        const cancel = new AbortController();
        const pending = complete(model, { signal: cancel.signal, onText });
        const received = await server.arrival(server.requests.length);
        cancel.abort();
        expect(await pending).toEqual(faulty("provider.cancelled"));
        expect(await received.closed).toBe("by-client");
      }
    });

    verifies("S-7.1/cancel", "a cancelled stream ends on the wire: the server sees its socket close", async () => {
      const { server, model } = await serve(() =>
        answer({ text: "Once upon a time", cut: { events: wire.eventsToText, by: "end", after: NEVER } }),
      );
      const cancel = new AbortController();
      const reply = await complete(model, { signal: cancel.signal, onText: () => cancel.abort() });
      expect(reply).toEqual(faulty("provider.cancelled"));
      expect(await server.requests[0]?.closed).toBe("by-client");
    });

    test("before it was sent: nothing is", async () => {
      const { server, model } = await serve(() => answer({ text: "Hi" }));
      expect(await complete(model, { signal: AbortSignal.abort() })).toEqual(faulty("provider.cancelled"));
      expect(server.connections).toBe(0);
    });

    test("while connecting: it settles, and nothing is sent", async () => {
      const { server, model } = await serve(() => answer({ text: "Hi" }));
      const cancel = new AbortController();
      const pending = complete(model, { signal: cancel.signal });
      // The library is loaded and the connection begun within turns of the loop that hold no I/O of ours.
      cancel.abort();
      expect(await pending).toEqual(faulty("provider.cancelled"));
      expect(await complete(model)).toMatchObject({ ok: true });
      expect(server.requests).toHaveLength(1);
    });
  });

  describe("check", () => {
    const check = (model: ConfiguredModel, signal = new AbortController().signal) => model.backend.check(signal);
    test.each<[string, Reply, boolean, string]>([
      ["a list", json(200, { data: [] }), true, "answers"],
      ["no such path", html(404), true, "answers"],
      ["too many requests", json(429, {}), true, "answers"],
      [
        "a refused key",
        json(401, { error: KEY }),
        false,
        "refused the API key (HTTP 401): set the right one in LAB_KEY",
      ],
      ["a list that is kept from the key", json(403, { error: KEY }), true, "answers"],
      ["trouble, which a completion may not have", html(503), true, "answers"],
      ["a reset", { kind: "reset" }, false, "closed the connection"],
      ["no HTTP", { kind: "bytes", bytes: "220 smtp\r\n" }, false, "does not speak HTTP"],
    ])("%s", async (_, models, responsive, part) => {
      const { server, model } = await serve(() => html(500), { apiKey: KEY, models: () => models });
      const health = await check(model);
      expect(health.responsive).toBe(responsive);
      expect(health.detail).toContain(part);
      expect(health.detail).not.toContain(KEY);
      expect(server.requests).toHaveLength(0);
    });

    test("a yes holds for 30 s, a no does not", async () => {
      const refused = json(401, {});
      const replies = [refused, json(200, {}), refused];
      const { server, clock, model } = await serve(() => html(500), { models: () => replies.shift() ?? html(500) });
      expect((await check(model)).responsive).toBe(false);
      expect((await check(model)).responsive).toBe(true);
      clock.pass(29_999);
      expect((await check(model)).responsive).toBe(true);
      expect(server.checks).toHaveLength(2);
      clock.pass(1);
      expect((await check(model)).responsive).toBe(false);
      expect(server.checks).toHaveLength(3);
    });

    test("a positive answer with HTTP 5xx is not cached", async () => {
      const { server, model } = await serve(() => html(500), { models: () => html(503) });
      for (const _ of [1, 2]) expect((await check(model)).responsive).toBe(true);
      expect(server.checks).toHaveLength(2);
    });

    const listed = (...ids: readonly string[]) => json(200, { data: ids.map((id) => ({ id })) });
    const UNKNOWN_MODEL = "the provider answers, but does not say whether it knows the model";
    test.each<[string, Reply, boolean, string]>([
      ["a list with it", listed("other", "scripted"), true, "the provider answers and knows the model"],
      ["an empty list", listed(), true, `${UNKNOWN_MODEL} (its list is empty or unreadable)`],
      ["no list at all", html(404), true, `${UNKNOWN_MODEL} (no list: HTTP 404)`],
      ["a list that is kept from the key", json(403, {}), true, `${UNKNOWN_MODEL} (no list: HTTP 403)`],
      ["a list without it", listed("other"), false, "does not list the model scripted: check its name"],
      ["trouble", html(503), false, "has a problem (HTTP 503)"],
      ["a refused key", json(401, {}), false, "refused the API key"],
    ])("whoever looks closer is told of %s", async (_, models, ok, part) => {
      const { server, model } = await serve(() => html(500), { apiKey: KEY, models: () => models });
      const found = await model.backend.inspect(new AbortController().signal);
      expect([found.ok, found.detail]).toEqual([ok, expect.stringContaining(part)]);
      expect(server.requests).toHaveLength(0);
    });

    test("cancelled, it is no yes", async () => {
      const { model } = await serve(() => html(500), { models: () => ({ kind: "hang" }) });
      const cancel = new AbortController();
      const pending = check(model, cancel.signal);
      cancel.abort();
      expect((await pending).responsive).toBe(false);
    });
  });

  test("a connection that is never accepted is given up by the signal", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const accepted = new Promise<void>((resolve) =>
      silent.once("connection", (socket) => socket.once("close", () => resolve()).resume()),
    );
    const cancel = new AbortController();
    silent.once("connection", () => cancel.abort());
    expect(await complete(modelAt(`http://127.0.0.1:${port}`), { signal: cancel.signal })).toEqual(
      faulty("provider.cancelled"),
    );
    await accepted;
    await new Promise((resolve) => silent.close(resolve));
  });

  async function serve(
    script: Script,
    { models, ...settings }: Serving = {},
  ): Promise<{ server: ScriptedServer<unknown>; clock: ManualClock; model: ConfiguredModel }> {
    const server = await wire.start(script, models === undefined ? {} : { models });
    servers.push(server);
    const clock = manualClock();
    return { server, clock, model: modelAt(server.baseUrl, { ...settings, clock }) };
  }

  function modelAt(
    baseUrl: string,
    more: Omit<Serving, "models"> & { readonly clock?: ManualClock } = {},
  ): ConfiguredModel {
    return configureModel({
      ref: "loopback:scripted",
      kind: wire.kind,
      baseUrl,
      model: "scripted",
      profile: "native-tools",
      contextWindow: 8_192,
      maxOutputTokens: 1_024,
      price: null,
      isFree: true,
      apiKey: null,
      keyName: "LAB_KEY",
      clock: manualClock(),
      ...more,
    });
  }

  function complete(
    model: ConfiguredModel,
    watch: {
      readonly signal?: AbortSignal;
      readonly onText?: ((text: string) => void) | null;
      readonly maxOutputTokens?: number;
    } = {},
  ): Promise<ModelReply> {
    const { signal = new AbortController().signal, onText = null, maxOutputTokens = request.maxOutputTokens } = watch;
    return model.backend.complete({ ...request, maxOutputTokens }, { signal, onText });
  }
}

function faulty(code: string) {
  return { ok: false, code, retryable: false, retryAfterMs: 0, usage: null };
}

/** Nobody answered, so nothing was used. */
function unanswered(code: string) {
  return { ...faulty(code), usage: { inputTokens: 0, outputTokens: 0 } };
}
