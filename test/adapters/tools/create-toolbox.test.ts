import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { createToolbox } from "../../../src/adapters/tools/create-toolbox.ts";
import { defineTool, type Tool } from "../../../src/adapters/tools/define-tool.ts";
import { ToolFailure } from "../../../src/adapters/tools/tool-failure.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { type JsonValue, parseJson } from "../../../src/kernel/vocabulary/parse-json.ts";
import { parseToolResponse } from "../../../src/kernel/vocabulary/tool-envelope.ts";
import type { Arguments, CallContext, Planned } from "../../../src/runtime/ports/toolbox.ts";
import { verifies } from "../../requirements.ts";

const closed = { additionalProperties: false } as const;
const clock = { nowMs: () => Date.UTC(2026, 1, 15), monotonicMs: () => 7 };

const echo = defineTool({
  name: "demo.echo",
  description: "Says it again.",
  parameters: Type.Object(
    {
      text: Type.String({ minLength: 1 }),
      times: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
      tags: Type.Optional(Type.Array(Type.String(), { default: [] })),
    },
    closed,
  ),
  risk: "side_effect",
  idempotency: "opaque",
  aliases: [{ name: "echo", rename: { words: "text" }, ignore: { loud: false } }],
  plan: ({ text }) => ({ shown: `echo ${text}`, labels: USER_LABELS, plan: { targets: [text] } }),
  run: async ({ args: { text, times } }) => await Promise.resolve(text.repeat(times)),
  summarize: ({ args }) => `echoed ${args["text"]}`,
});

const SHOWN = { shown: "look", labels: USER_LABELS };

function box(tools: readonly Tool[] = [echo]) {
  const defects: unknown[] = [];
  const onDefect = (error: unknown) => defects.push(error);
  return { toolbox: createToolbox(tools, { clock, onDefect }), defects };
}

function context(signal = new AbortController().signal): CallContext {
  const ids = { requestId: "req_1", runId: "run_1", agentId: "main" };
  return {
    ...ids,
    timeoutMs: 1000,
    idempotencyKey: null,
    isRepeat: false,
    mayAct: true,
    seen: USER_LABELS,
    signal,
    onOutput: null,
  };
}

async function planned(tools: readonly Tool[], name: string, args: Arguments): Promise<Planned> {
  const plan = await box(tools).toolbox.plan(name, args);
  if (!plan.ok) throw new Error(plan.error.message);
  return plan;
}

describe("registration", () => {
  test("refuses two tools of one name, and an alias that is taken", () => {
    expect(() => box([echo, { ...echo, aliases: [] }])).toThrow(Defect);
    expect(() => box([echo, { ...echo, name: "demo.other", aliases: [{ name: "demo.echo" }] }])).toThrow(
      /demo.echo already names demo.echo/,
    );
    expect(() => box([echo, { ...echo, name: "demo.other" }])).toThrow(/echo already names demo.echo/);
  });

  verifies("P-3.1", "a tool that breaks a rule of the lint stops the process before any call", () => {
    expect(() => box([{ ...echo, parameters: Type.Object({}) }])).toThrow(Defect);
  });

  test("the digest follows names, schemas, risks and promises, whatever their order, and nothing else", () => {
    const other: Tool = { ...echo, name: "demo.other", aliases: [] };
    const digest = box([echo, other]).toolbox.digest;
    expect(box([other, echo]).toolbox.digest).toBe(digest);
    expect(box([{ ...echo, description: "Otherwise." }, other]).toolbox.digest).toBe(digest);
    const changes: readonly Partial<Tool>[] = [
      { name: "demo.third" },
      { risk: "read_only" },
      { idempotency: "keyed" },
      { parameters: Type.Object({ text: Type.String() }, closed) },
    ];
    const digests = changes.map((change) => box([echo, { ...other, ...change }]).toolbox.digest);
    expect(new Set([digest, ...digests]).size).toBe(changes.length + 1);
  });

  test("tools are offered by name, with a schema that is plain JSON", () => {
    const { tools } = box([echo, { ...echo, name: "a.first", aliases: [] }]).toolbox;
    expect(tools.map(({ name }) => name)).toEqual(["a.first", "demo.echo"]);
    expect(hashCanonical(tools[1]?.parameters)).toBe(hashCanonical(JSON.parse(JSON.stringify(echo.parameters))));
  });
});

describe("planning", () => {
  test("fills in defaults and everything the tool leaves out", async () => {
    expect(await planned([echo], "demo.echo", { text: "a" })).toEqual({
      ok: true,
      tool: "demo.echo",
      args: { text: "a", times: 1, tags: [] },
      risk: "side_effect",
      idempotency: "opaque",
      pollable: false,
      timeoutMs: 30_000,
      volatileFields: [],
      egress: [],
      asksAlways: false,
      reversal: { kind: "unknown", how: "what it changes is not known beforehand" },
      send: null,
      delegation: null,
      labels: USER_LABELS,
      shown: "echo a",
      plan: {
        argv: [],
        cwd: null,
        environmentHash: hashCanonical({}),
        executable: null,
        scriptHashes: [],
        targets: ["a"],
      },
    });
  });

  test("a call may be classified by what it would do, and no call is given more than ten minutes", async () => {
    const reader: Tool = {
      ...echo,
      plan: () => ({
        shown: "look",
        labels: UNTRUSTED_LABELS,
        risk: "read_only",
        idempotency: "read_only",
        egress: ["example.org"],
        asksAlways: true,
        timeoutMs: 1e12,
        delegation: { agent: "a", message: "m" },
      }),
    };
    expect(await planned([reader], "demo.echo", { text: "a" })).toMatchObject({
      risk: "read_only",
      idempotency: "read_only",
      egress: ["example.org"],
      asksAlways: true,
      timeoutMs: 600_000,
      delegation: { agent: "a", message: "m" },
    });
  });

  verifies("O-1.1", "a call has the configured time, a tool's or its own up to the configured limit", async () => {
    const timeouts = { defaultMs: 7_000, maxMs: 9_000 };
    const timeoutOf = async (tool: Tool): Promise<number> => {
      const found = await createToolbox([tool], { clock, onDefect: () => {}, timeouts }).plan(tool.name, { text: "a" });
      return found.ok ? found.timeoutMs : Number.NaN;
    };
    const asking = (timeoutMs: number): Tool => ({ ...echo, plan: () => ({ ...SHOWN, timeoutMs }) });
    expect(await timeoutOf(echo)).toBe(7_000);
    expect(await timeoutOf({ ...echo, timeoutMs: 8_000 })).toBe(8_000);
    expect(await timeoutOf({ ...echo, timeoutMs: 10_000 })).toBe(9_000);
    expect(await timeoutOf(asking(1))).toBe(1);
    expect(await timeoutOf(asking(8_500))).toBe(8_500);
    expect(await timeoutOf(asking(1e12))).toBe(9_000);
  });

  test("an unknown name gets a bounded list of known tools", async () => {
    const many = Array.from({ length: 60 }, (_, index): Tool => ({ ...echo, name: `x${index}.go`, aliases: [] }));
    const { toolbox } = box([...many, echo]);
    for (const name of ["demo.ecko", "demo__echo", "", "__proto__", "constructor", "e".repeat(100_000)]) {
      const answer = await toolbox.plan(name, {});
      if (answer.ok) throw new Error("planned");
      expect(answer.error.code).toBe("tool.not_found");
      expect(answer.error.message.length).toBeLessThan(400);
    }
    expect(await toolbox.plan("demo.ecko", {})).toMatchObject({
      error: { message: expect.stringMatching(/Known tools: demo\.echo, .* and 37 more\./) },
    });
  });

  const invalid: readonly (readonly [string, string, RegExp])[] = [
    ["nothing", "{}", /text is missing/],
    ["a wrong type", '{"text":1}', /text must be string/],
    ["a number as a string", '{"text":"a","times":"2"}', /times must be integer/],
    ["a fraction", '{"text":"a","times":1.5}', /times must be integer/],
    ["too small a number", '{"text":"a","times":0}', /times must be >= 1/],
    ["an empty text", '{"text":""}', /text/],
    ["null", '{"text":null}', /text must be string/],
    ["a wrong item", '{"text":"a","tags":[1]}', /tags\/0 must be string/],
    ["an unknown field", '{"text":"a","speed":1}', /unknown argument "speed"; it takes text, times, tags/],
    ["__proto__", '{"text":"a","__proto__":{"x":1}}', /unknown argument "__proto__"/],
    ["constructor", '{"text":"a","constructor":{"prototype":{"x":1}}}', /unknown argument "constructor"/],
    ["a hole", '{"text":"key [REDACTED:openai]"}', /"text" contains a \[REDACTED/],
    ["a hole in a key", '{"text":"a","[REDACTED:x]":1}', /REDACTED/],
    ["a list", "[]", /must be an object/],
    ["a very long key", `{"text":"a","${"k".repeat(9999)}":1}`, /unknown argument "k{48}"/],
  ];
  test.each(invalid)("%s is tool.input_invalid and says where", async (_what, json, message) => {
    const parsed = parseJson(json);
    if (!parsed.ok) throw new Error(parsed.problem);
    const answer = await box().toolbox.plan("demo.echo", parsed.value as Arguments);
    expect(answer).toMatchObject({ ok: false, tool: "demo.echo", error: { code: "tool.input_invalid" } });
    if (!answer.ok) expect(answer.error.message).toMatch(message);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["an integer beyond 2^53", { text: "a", times: 2 ** 53 }, /"times" contains a number that does not fit/],
    ["infinity", { text: "a", times: Number.POSITIVE_INFINITY }, /does not fit/],
    ["a lone surrogate", { text: "\ud800" }, /"text" contains a lone surrogate/],
    ["a lone surrogate in a key", { text: "a", "\udfff": 1 }, /lone surrogate/],
    ["undefined", { text: undefined }, /not JSON/],
    ["a date", { text: new Date(0) }, /not JSON/],
  ])("%s, which no strict reader would have let in, is tool.input_invalid", async (_what, args, message) => {
    const answer = await box().toolbox.plan("demo.echo", args as Arguments);
    expect(answer).toMatchObject({ ok: false, error: { code: "tool.input_invalid" } });
    if (!answer.ok) {
      expect(answer.error.message).toMatch(message);
      expect(answer.error.message.isWellFormed()).toBe(true);
    }
  });

  test("an alias is the same tool under its own name, with its arguments mapped", async () => {
    expect(await planned([echo], "echo", { words: "a", loud: false })).toEqual(
      await planned([echo], "demo.echo", { text: "a" }),
    );
    expect(await planned([echo], "echo", { text: "a" })).toMatchObject({ args: { text: "a" } });
    const { toolbox } = box();
    expect(await toolbox.plan("echo", { words: "a", loud: true })).toMatchObject({
      error: { code: "tool.input_invalid", message: 'demo.echo: "loud" must be false.' },
    });
    expect(await toolbox.plan("echo", { words: "a", text: "b" })).toMatchObject({
      error: { code: "tool.input_invalid", message: expect.stringContaining("mean the same") },
    });
    expect(await toolbox.plan("demo.echo", { words: "a" })).toMatchObject({ error: { code: "tool.input_invalid" } });
  });
});

describe("running", () => {
  const answering = (run: Tool["run"]): Tool => ({ ...echo, run });

  verifies("O-1.2", "success and failure are envelopes that the boundary accepts", async () => {
    const good = await box().toolbox.run(await planned([echo], "demo.echo", { text: "a", times: 2 }), context());
    expect(good).toEqual({
      requestId: "req_1",
      runId: "run_1",
      tool: "demo.echo",
      ok: true,
      output: "aa",
      error: null,
      durationMs: 0,
      finishedAt: "2026-02-15T00:00:00.000Z",
    });
    const failing = answering(() => {
      throw new ToolFailure("policy.denied", "No.", { details: { path: "x" }, retryable: true });
    });
    const bad = await box([failing]).toolbox.run(await planned([failing], "demo.echo", { text: "a" }), context());
    expect(bad).toMatchObject({
      ok: false,
      error: { code: "policy.denied", message: "No.", retryable: true, details: { path: "x" } },
    });
    expect(bad).not.toHaveProperty("output");
    for (const response of [good, bad]) expect(parseToolResponse(response).ok).toBe(true);
  });

  verifies(
    "S-7.2/tool",
    "what a tool should not have thrown is reported as a defect, and told without a word of it",
    async () => {
      const secret = new Error("sk-test-CANARY");
      for (const [where, tool] of [
        ["run", answering(() => Promise.reject(secret))],
        ["plan", { ...echo, plan: () => Promise.reject(secret) }],
      ] as const) {
        const { toolbox, defects } = box([tool]);
        const plan = await toolbox.plan("demo.echo", { text: "a" });
        const response = plan.ok ? await toolbox.run(plan, context()) : plan;
        expect(response, where).toMatchObject({ ok: false, error: { code: "internal.error", retryable: false } });
        expect(JSON.stringify(response)).not.toMatch(/CANARY|\bat .*:\d+/);
        expect(defects).toEqual([secret]);
      }
    },
  );

  test("an abort is a timeout; an opaque call that was stopped is not called retryable", async () => {
    const abort = new AbortController();
    const waits = (idempotency: Tool["idempotency"]): Tool => ({
      ...answering(async (_call, { signal }): Promise<JsonValue> => {
        abort.abort();
        await Promise.resolve();
        signal.throwIfAborted();
        return null;
      }),
      idempotency,
    });
    for (const [idempotency, retryable] of [
      ["opaque", false],
      ["keyed", true],
    ] as const) {
      const { toolbox, defects } = box([waits(idempotency)]);
      const plan = await planned([waits(idempotency)], "demo.echo", { text: "a" });
      expect(await toolbox.run(plan, context(abort.signal))).toMatchObject({ error: { code: "timeout", retryable } });
      expect(defects).toEqual([]);
    }
  });

  test("a call that was stopped before it began does not begin", async () => {
    let ran = false;
    const tool = answering(async () => {
      ran = true;
      return await Promise.resolve(null);
    });
    const response = await box([tool]).toolbox.run(
      await planned([tool], "demo.echo", { text: "a" }),
      context(AbortSignal.abort()),
    );
    expect(response).toMatchObject({ ok: false, error: { code: "timeout" } });
    expect(ran).toBe(false);
  });

  test("a failure after an abort keeps its own code", async () => {
    const tool = answering(() => Promise.reject(new ToolFailure("internal.error", "The disk is full.")));
    const abort = new AbortController();
    const failing = answering(async (call, ctx) => {
      abort.abort();
      return await tool.run(call, ctx);
    });
    const response = await box([failing]).toolbox.run(
      await planned([failing], "demo.echo", { text: "a" }),
      context(abort.signal),
    );
    expect(response).toMatchObject({ error: { code: "internal.error", message: "The disk is full." } });
  });

  test("a plan of another registry is a defect", async () => {
    const plan = await planned([echo], "demo.echo", { text: "a" });
    await expect(box([]).toolbox.run(plan, context())).rejects.toThrow(Defect);
  });
});

verifies("O-5.4", "a summary is short, and there is one for every call", () => {
  const { toolbox } = box();
  const call = { tool: "demo.echo", args: { text: "hi" }, ok: true, output: null };
  expect(toolbox.summarize(call)).toBe("echoed hi");
  expect(toolbox.summarize({ ...call, ok: false })).toBe("demo.echo failed");
  expect(toolbox.summarize({ ...call, tool: "gone.tool" })).toBe("gone.tool done");
  const long = toolbox.summarize({ ...call, args: { text: "é".repeat(1000) } });
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(220);
});

describe("a stored secret in arguments", () => {
  const values = new Map([
    ["crm", "k7-Zq9.vLm2"],
    ["mail", "p3-Wd6.nHs1"],
  ]);
  /** Returns what it was given, split as a command is. */
  const split = defineTool({
    ...{ name: "demo.split", description: "Splits.", risk: "read_only", idempotency: "read_only" },
    parameters: Type.Object({ head: Type.String(), text: Type.String() }, closed),
    plan: ({ text }) => ({ ...SHOWN, plan: { argv: [...text.split(" "), "read from a file: ⟦secret:mail⟧"] } }),
    run: async ({ args: { head, text }, plan }) => await Promise.resolve([head, text, ...plan.argv]),
    summarize: () => "split",
  });

  async function given(args: Arguments) {
    const toolbox = createToolbox([split], { clock, onDefect: () => {}, secretOf: (name) => values.get(name) });
    const plan = await toolbox.plan("demo.split", args);
    if (!plan.ok) throw new Error(plan.error.message);
    const { output } = (await toolbox.run(plan, context())) as { readonly output: readonly string[] };
    return { asks: plan.asksAlways, output };
  }

  verifies("P-5.4", "is put back where the call asked for it, and nothing else is", async () => {
    const plain = "read from a file: ⟦secret:mail⟧";
    expect(await given({ head: "x", text: "a ⟦secret:crm⟧" })).toEqual({
      ...{ asks: true, output: ["x", "a k7-Zq9.vLm2", "a", "k7-Zq9.vLm2", plain] },
    });
    // An opening in one argument hides no handle in the next.
    expect((await given({ head: "⟦secret:", text: "⟦secret:crm⟧" })).asks).toBe(true);
    for (const text of ["⟦secret: ⟦secret:crm⟧", "⟦secret:none⟧"]) {
      expect(await given({ head: "x", text })).toEqual({ asks: false, output: ["x", text, ...text.split(" "), plain] });
    }
  });

  test("that was set after the plan was decided is not put back", async () => {
    const known = new Map<string, string>();
    const toolbox = createToolbox([split], { clock, onDefect: () => {}, secretOf: (name) => known.get(name) });
    const plan = (await toolbox.plan("demo.split", { head: "x", text: "⟦secret:late⟧" })) as Planned;
    known.set("late", "k7-Zq9.vLm2");
    expect(JSON.stringify(await toolbox.run(plan, context()))).not.toContain("k7-Zq9.vLm2");
  });
});
