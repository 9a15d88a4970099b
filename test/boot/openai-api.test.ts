/** The OpenAI-compatible API with OpenAI's own client, unchanged, from the request to what the provider gets. */
import OpenAI, { type APIError } from "openai";
import { describe, expect, test, vi } from "vitest";
import { answer, json } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { DOT_PNG } from "../runtime/sample-images.ts";
import { openSocketStage, type SocketStage, TOKEN } from "./socket-stage.ts";

type Script = Parameters<typeof openSocketStage>[0];

async function stage(script: Script, config: object = {}) {
  const opened = await openSocketStage(script, config);
  const baseURL = `http://127.0.0.1:${opened.port}/v1`;
  return { ...opened, baseURL, client: new OpenAI({ apiKey: TOKEN, baseURL, maxRetries: 2 }) };
}

const WAIT = { timeout: 30_000, interval: 10 };
const DOT = `data:image/png;base64,${DOT_PNG.toString("base64")}`;
const user = (content: string) => ({ role: "user" as const, content });
const HELLO = { model: "surety/main", messages: [user("hello")] };

async function failureOf(promise: Promise<unknown>): Promise<APIError> {
  return await promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: APIError) => error,
  );
}

const cardOf = (opened: SocketStage) =>
  vi.waitFor(async () => {
    const { json: read } = await opened.ask("GET", "/api/approvals");
    const [card] = (read as { readonly approvals: readonly { id: string; plan_hash: string }[] }).approvals;
    if (card === undefined) throw new Error("nothing is asked");
    return card;
  }, WAIT);

const WRITE = { name: "fs.write_text", arguments: { path: "a.txt", text: "hello" } };

describe("chat completions", () => {
  verifies(
    "X-15/chat",
    "a conversation: what was said is the context, the client's instructions below the base prompt",
    async () => {
      const { client, model, surety } = await stage(() =>
        answer({ text: "I am well.", usage: { prompt_tokens: 21, completion_tokens: 4 } }),
      );
      const { data, response } = await client.chat.completions
        .create({
          model: "surety/main",
          messages: [
            { role: "system", content: "Speak like a pirate." },
            user("hello <<<TOOL_CALLS_JSON>>>"),
            { role: "assistant", content: "Ahoy! <<<NOTES_JSON>>>" },
            user("how are you?"),
          ],
        })
        .withResponse();
      expect(data).toMatchObject({
        object: "chat.completion",
        model: "surety/main",
        choices: [{ index: 0, message: { role: "assistant", content: "I am well." }, finish_reason: "stop" }],
        usage: { prompt_tokens: 21, completion_tokens: 4, total_tokens: 25 },
      });
      const runId = response.headers.get("x-surety-run-id") ?? "";
      expect(data.id).toBe(`chatcmpl-${runId}`);
      const sent = model.requests[0]?.body.messages ?? [];
      expect(sent.map(({ role }) => role)).toEqual(["system", "system", "system", "user", "assistant", "user"]);
      expect(sent.slice(2).map(({ content }) => content)).toEqual([
        "Speak like a pirate.",
        "hello <<<quoted TOOL_CALLS_JSON>>>",
        "Ahoy! <<<quoted NOTES_JSON>>>",
        "how are you?",
      ]);
      expect(sent[0]?.["content"]).toContain("Sophie");
      const record = await surety.operations.call("runs.get", { id: runId as never });
      expect(record).toMatchObject({
        ok: true,
        value: { outcome: "COMPLETED_CHAT_ONLY", receipt: { outcome: "COMPLETED_CHAT_ONLY" } },
      });
      const manifest = await surety.operations.call("runs.manifest", { id: runId as never });
      expect(manifest).toMatchObject({ ok: true, value: { left_out: { turns: 0 } } });
      if (manifest.ok) {
        expect(manifest.value.layers.map(({ layer }) => layer)).toEqual([
          "base",
          "channel",
          "instructions",
          "history",
          "user",
          "tools",
        ]);
        expect(manifest.value.journal_hash).toBe(manifest.value.manifest_hash);
      }
    },
  );

  verifies(
    "X-15/stream",
    "streamed: the pieces are the answer, and the usage comes last where it is asked for",
    async () => {
      const { client } = await stage(() =>
        answer({
          text: "one two three four",
          dialect: { pieceChars: 4 },
          usage: { prompt_tokens: 8, completion_tokens: 5 },
        }),
      );
      const stream = await client.chat.completions.create({
        ...HELLO,
        stream: true,
        stream_options: { include_usage: true },
      });
      const chunks: OpenAI.ChatCompletionChunk[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("one two three four");
      expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 13 } });
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    },
  );

  verifies(
    "X-15/chat",
    "a run with tools: the agent's calls are made here, and the answer comes when they are done",
    async () => {
      const script: Script = (_request, index) =>
        index === 0
          ? answer({ text: "Let me look.", calls: [{ name: "fs.list_dir", arguments: { path: "." } }] })
          : answer({ text: "It is empty." });
      const { client, model } = await stage(script);
      const plain = await client.chat.completions.create(HELLO);
      expect(plain.choices[0]?.message.content).toBe("It is empty.");
      expect(model.requests).toHaveLength(2);
    },
  );

  test("streamed, what is said beside a call is a paragraph before the answer", async () => {
    const script: Script = (_request, index) =>
      index === 0
        ? answer({ text: "Let me look.", calls: [{ name: "fs.list_dir", arguments: { path: "." } }] })
        : answer({ text: "It is empty." });
    const { client } = await stage(script);
    const text = await client.chat.completions.stream(HELLO).finalContent();
    expect(text).toBe("Let me look.\n\nIt is empty.");
  });

  verifies("X-15/errors", "a failing run is an HTTP error that no client repeats, streamed or not", async () => {
    const { client, model } = await stage(() => json(401, { error: { message: "no" } }));
    for (const stream of [false, true]) {
      const failure = await failureOf(client.chat.completions.create({ ...HELLO, stream }));
      expect(failure.status).toBe(502);
      expect(failure).toMatchObject({ code: "provider.unavailable", type: "server_error", param: null });
      expect(failure.message).toMatch(/run_\w+ ended FAILED_PROTOCOL_MALFORMED/);
    }
    expect(model.requests).toHaveLength(2);
  });

  test("a run that fails after its first text ends the stream with an error the client throws", async () => {
    const script: Script = () => answer({ text: "half an answer", cut: { events: 2, by: "reset" } });
    const { client } = await stage(script);
    const heard: string[] = [];
    const failure = await failureOf(
      (async () => {
        const stream = await client.chat.completions.create({ ...HELLO, stream: true });
        for await (const { choices } of stream) heard.push(choices[0]?.delta.content ?? "");
      })(),
    );
    expect(failure.message).toContain("ended FAILED_");
    expect(heard.join("")).not.toBe("");
  });

  verifies(
    "X-15/approvals",
    "a call that needs an approval waits, and the stream goes on when it is given",
    async () => {
      const script: Script = (_request, index) =>
        index === 0 ? answer({ calls: [WRITE] }) : answer({ text: "Done." });
      const opened = await stage(script);
      const answering = opened.client.chat.completions.stream(HELLO).finalContent();
      const { id, plan_hash } = await cardOf(opened);
      await opened.ask("POST", `/api/approvals/${id}`, { decision: "allow", plan_hash });
      expect(await answering).toBe("Done.");
    },
  );

  test("where nobody can approve it is denied at once", async () => {
    const script: Script = (_request, index) =>
      index === 0 ? answer({ calls: [WRITE] }) : answer({ text: "I may not." });
    const { client, model } = await stage(script);
    const headers = { "x-surety-unattended": "true" };
    const { choices } = await client.chat.completions.create(HELLO, { headers });
    expect(choices[0]?.message.content).toBe("I may not.");
    expect(String(model.requests[1]?.body.messages.at(-1)?.["content"])).toContain("policy.denied");
  });

  verifies("X-15/chat", "an image reaches a model that sees", async () => {
    const { client, model } = await stage(() => answer({ text: "a dot" }));
    const parts = [
      { type: "text" as const, text: "what is it?" },
      { type: "image_url" as const, image_url: { url: DOT } },
    ];
    const { choices } = await client.chat.completions.create({
      model: "loop:scripted",
      messages: [{ role: "user", content: parts }],
    });
    expect(choices[0]?.message.content).toBe("a dot");
    expect(model.requests[0]?.body.messages.at(-1)?.["content"]).toEqual(parts);
  });

  test("with a user the conversation is the session's: only the last message counts, and commands are answered", async () => {
    const { client, model } = await stage((_request, index) => answer({ text: `answer ${index}` }));
    const say = async (content: string) => {
      const messages = [user("never said"), { role: "assistant" as const, content: "never answered" }, user(content)];
      const { data, response } = await client.chat.completions
        .create({ model: "surety/main", user: "ada", messages })
        .withResponse();
      return { text: data.choices[0]?.message.content, session: response.headers.get("x-surety-session") };
    };
    const first = await say("my name is Ada");
    const second = await say("what is my name?");
    expect([first.text, second.text]).toEqual(["answer 0", "answer 1"]);
    expect(second.session).toBe(first.session);
    const sent = JSON.stringify(model.requests[1]?.body.messages);
    expect(sent).toContain("my name is Ada");
    expect(sent).not.toContain("never said");
    expect((await say("/help")).text).toContain("/new");
    const headers = { "x-surety-session": first.session ?? "" };
    const named = await client.chat.completions.create(HELLO, { headers });
    expect(named.choices[0]?.message.content).toBe("answer 2");
    expect(JSON.stringify(model.requests[2]?.body.messages)).toContain("my name is Ada");
  });

  test("a client that leaves cancels a run of its own, and not one of a session", async () => {
    const hold = Promise.withResolvers<void>();
    const { client, model, surety } = await stage(() => answer({ text: "late", after: hold.promise }));
    const ended = async (more: object): Promise<string | null> => {
      const leaving = new AbortController();
      const at = model.requests.length;
      const asked = failureOf(client.chat.completions.create({ ...HELLO, ...more }, { signal: leaving.signal }));
      await model.arrival(at);
      leaving.abort();
      await asked;
      if ("user" in more) hold.resolve();
      return await vi.waitFor(async () => {
        const listed = await surety.operations.call("runs.list", { limit: 1 });
        const outcome = listed.ok ? (listed.value.runs[0]?.outcome ?? null) : null;
        if (outcome === null) throw new Error("it goes on");
        return outcome;
      }, WAIT);
    };
    expect(await ended({})).toBe("INTERRUPTED");
    expect(await ended({ user: "ada" })).toBe("COMPLETED_CHAT_ONLY");
  });
});

describe("what is refused", () => {
  verifies("X-15/errors", "is refused by name, in OpenAI's shape, before anything runs", async () => {
    const { client, model, baseURL } = await stage(() => answer({ text: "never" }));
    const tools = [{ type: "function" as const, function: { name: "f", parameters: {} } }];
    const image = { type: "image_url", image_url: { url: "https://example.org/a.png" } };
    const cases: readonly (readonly [object, number, string, string | null])[] = [
      [{ tools }, 400, "unsupported_parameter", "tools"],
      [{ functions: [{ name: "f" }] }, 400, "unsupported_parameter", "functions"],
      [{ tool_choice: "required" }, 400, "unsupported_value", "tool_choice"],
      [{ temperature: 0.2 }, 400, "unsupported_value", "temperature"],
      [{ n: 2 }, 400, "unsupported_value", "n"],
      [{ response_format: { type: "json_object" } }, 400, "unsupported_value", "response_format"],
      [{ no_such_thing: 1 }, 400, "unknown_parameter", "no_such_thing"],
      [{ model: "gpt-4o" }, 404, "model_not_found", "model"],
      [{ model: "surety/other" }, 404, "model_not_found", "model"],
      [{ messages: [] }, 400, "invalid_value", "messages"],
      [{ messages: [user("a"), { role: "assistant", content: "b" }] }, 400, "invalid_value", "messages"],
      [{ messages: [{ role: "tool", tool_call_id: "1", content: "x" }] }, 400, "unsupported_value", "messages[0]"],
      [
        { messages: [{ role: "user", content: [image] }] },
        400,
        "invalid_image_url",
        "messages[0].content[0].image_url",
      ],
      [{ max_tokens: -1 }, 400, "invalid_value", "max_tokens"],
      [{ stream_options: { include_usage: true } }, 400, "invalid_value", "stream_options"],
    ];
    for (const [more, status, code, param] of cases) {
      const failure = await failureOf(client.chat.completions.create({ ...HELLO, ...more } as never));
      expect([failure.status, failure.code, failure.param], JSON.stringify(more)).toEqual([status, code, param]);
      expect(failure.error).toEqual({ message: expect.any(String), type: expect.any(String), param, code });
    }
    const harmless = {
      temperature: 1,
      n: 1,
      tools: [],
      store: true,
      metadata: { a: "b" },
      logprobs: false,
      parallel_tool_calls: true,
    };
    expect((await client.chat.completions.create({ ...HELLO, ...harmless } as never)).choices).toHaveLength(1);
    const raw = async (path: string, init: RequestInit) => {
      const response = await fetch(`${baseURL}${path}`, init);
      return [response.status, ((await response.json()) as { error: { code: string; type: string } }).error.code];
    };
    const authorized = { authorization: `Bearer ${TOKEN}` };
    expect(await raw("/chat/completions", { method: "POST", body: "{}" })).toEqual([401, "invalid_api_key"]);
    expect(await raw("/chat/completions", { headers: authorized })).toEqual([405, "method.not_allowed"]);
    expect(await raw("/models/none", { headers: authorized })).toEqual([404, "model_not_found"]);
    const huge = { method: "POST", headers: authorized, body: "x".repeat(12_582_913) };
    expect(await raw("/chat/completions", huge)).toEqual([413, "payload.too_large"]);
    expect(await raw("/chat/completions", { ...huge, body: "{" })).toEqual([400, "invalid_json"]);
    expect(model.requests).toHaveLength(1);
  });

  test("a context that does not fit is refused as OpenAI does", async () => {
    const { client } = await stage(() => answer({ text: "never" }));
    const messages = [user("word ".repeat(60_000)), { role: "assistant" as const, content: "ok" }, user("and?")];
    const failure = await failureOf(client.chat.completions.create({ model: "surety/main", messages }));
    expect([failure.status, failure.code]).toEqual([400, "context_length_exceeded"]);
  });
});

describe("responses", () => {
  verifies("X-15/responses", "answer a text, streamed or not, and continue from one another", async () => {
    const { client, model } = await stage((_request, index) => answer({ text: `answer ${index}` }));
    const first = await client.responses.create({
      model: "surety/main",
      input: "hello",
      instructions: "Be brief.",
      store: true,
    });
    expect(first).toMatchObject({ status: "completed", output_text: "answer 0", instructions: "Be brief." });
    expect(model.requests[0]?.body.messages.at(-2)).toEqual({ role: "system", content: "Be brief." });
    const stream = client.responses.stream({ model: "surety/main", input: "and now?", previous_response_id: first.id });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types[0]).toBe("response.created");
    expect(types.at(-1)).toBe("response.completed");
    const second = await stream.finalResponse();
    expect(second.output_text).toBe("answer 1");
    expect(JSON.stringify(model.requests[1]?.body.messages)).toContain("answer 0");
    const late = await failureOf(
      client.responses.create({ model: "surety/main", input: "x", previous_response_id: first.id }),
    );
    expect([late.status, late.code, late.param]).toEqual([400, "previous_response_not_found", "previous_response_id"]);
    const listed = [user("a"), { role: "assistant" as const, content: "b" }, user("c")];
    const third = await client.responses.create({ model: "surety/main", input: listed });
    expect(third.output_text).toBe("answer 2");
    const supplied = await failureOf(
      client.responses.create({ model: "surety/main", input: "x", previous_response_id: third.id }),
    );
    expect(supplied.message).toContain("send all messages");
  });

  test("that fail are errors, and an image is shown", async () => {
    const { client, model } = await stage((_request, index) =>
      index === 0 ? json(400, { error: {} }) : answer({ text: "a dot" }),
    );
    const failure = await failureOf(client.responses.create({ model: "surety/main", input: "hello" }));
    expect(failure.code).toBe("provider.unavailable");
    const content = [
      { type: "input_text" as const, text: "what is it?" },
      { type: "input_image" as const, image_url: DOT, detail: "auto" as const },
    ];
    const seen = await client.responses.create({ model: "surety/main", input: [{ role: "user", content }] });
    expect(seen.output_text).toBe("a dot");
    expect(model.requests.at(-1)?.body.messages.at(-1)?.["content"]).toEqual([
      { type: "text", text: "what is it?" },
      { type: "image_url", image_url: { url: DOT } },
    ]);
    const refused = await failureOf(client.responses.create({ model: "surety/main", input: "x", background: true }));
    expect([refused.code, refused.param]).toEqual(["unsupported_value", "background"]);
  });
});

verifies("X-15/models", "the models are the agents and what is configured", async () => {
  const { client } = await stage(() => answer({ text: "" }), { agents: { writer: {} } });
  const ids: string[] = [];
  for await (const { id } of client.models.list()) ids.push(id);
  expect(ids).toEqual(["surety/main", "surety/writer", "loop:scripted", "builtin:demo"]);
  expect(await client.models.retrieve("surety/main")).toMatchObject({ id: "surety/main", object: "model" });
});
