/** The embedding API on a real home: the seeds' interfaces, each call of a tool a run that can be verified. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as library from "../../src/boot/embedding/library.ts";
import type * as Api from "../../src/boot/embedding/surety-api.ts";
import { temporaryDirectory } from "../boot/temporary-home.ts";
import { verifies } from "../requirements.ts";

// Types alone: what is published is what is implemented.
const { openSurety, ToolRegistry, ToolFailure, LLMError }: typeof Api = library;

async function open(options: Api.OpenOptions = {}) {
  const home = options.home ?? join(await temporaryDirectory(), "home");
  const surety = await openSurety({ home, onDefect: vi.fn(), ...options });
  onTestFinished(() => surety.close());
  return { surety, home, workspace: join(home, "workspace") };
}

const LOOKUP: Api.Tool = {
  name: "acme.lookup",
  description: "Look up a customer by number.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["number"],
    properties: { number: { type: "integer", minimum: 1 }, detail: { type: "string", default: "name" } },
  },
  risk: "read_only",
  run({ number, detail }) {
    if (number === 404) throw new ToolFailure("invalid.request", "There is no customer 404.");
    if (number === 500) throw new TypeError("a bug");
    return { number, detail, since: new Date(0) };
  },
};
const ALLOWED = { tools: { policy: { allow: ["fs.*", "acme.*"] } } };
const SESSION = { id: "s", senderId: "me", state: "active", messages: [] } as const;
const session = (channel: string): Api.Session => ({
  ...SESSION,
  channel,
  messages: [],
  metadata: { createdAt: 0, lastActiveAt: 0, messageCount: 0, model: "builtin:demo" },
  config: {},
});

describe("ToolRegistry", () => {
  verifies(
    ["T-4.1/execute", "T-4.1/result"],
    "execute is a run: planned, decided, performed and journaled, and it verifies",
    async () => {
      const { surety, workspace } = await open();
      await writeFile(join(workspace, "notes.txt"), "buy <<<NOTES_JSON>>> milk\n");
      const { success, output, metadata } = await surety.tools.execute("fs.read_text", { path: "notes.txt" });
      expect([success, JSON.parse(output)]).toEqual([
        true,
        expect.objectContaining({ text: "buy <<<NOTES_JSON>>> milk\n" }),
      ]);
      expect(metadata).toEqual({
        executionTime: expect.any(Number),
        runId: expect.stringMatching(/^run_/),
        sessionId: expect.stringMatching(/^session_/),
      });
      expect(await surety.verify(metadata?.runId ?? "")).toEqual({ ok: true, entries: 10, head: expect.any(String) });
      expect(await surety.verify("run_none")).toMatchObject({ ok: false });
    },
  );

  verifies("T-4.1/descriptions", "getToolDescriptions lists every registered tool with its schema", async () => {
    const { surety } = await open();
    surety.tools.register(LOOKUP);
    const described = surety.tools.getToolDescriptions();
    expect(described.find(({ name }) => name === "acme.lookup")).toEqual({
      name: "acme.lookup",
      description: LOOKUP.description,
      parameters: LOOKUP.parameters,
    });
    expect(described.map(({ name }) => name)).toContain("shell.exec");
  });

  verifies("T-4.1/register", "a registered tool is denied until policy lists it", async () => {
    const { surety } = await open();
    surety.tools.register(LOOKUP);
    expect(surety.tools.isAllowed("acme.lookup", session("cli"))).toBe(false);
    const { success, output, metadata } = await surety.tools.execute("acme.lookup", { number: 7 });
    expect([success, output]).toEqual([false, expect.stringMatching(/^policy\.denied: .*tools\.policy\.allow/)]);
    expect(await surety.verify(metadata?.runId ?? "")).toMatchObject({ ok: true });
  });

  verifies(
    ["T-4.1/execute", "T-4.1/result"],
    "a registered and allowed tool runs with validated arguments; its failures are results",
    async () => {
      const onDefect = vi.fn();
      const { surety } = await open({ config: ALLOWED, onDefect });
      surety.tools.register(LOOKUP);
      const call = (args: Record<string, unknown>) => surety.tools.execute("acme.lookup", args);
      expect(JSON.parse((await call({ number: 7 })).output)).toEqual({
        number: 7,
        detail: "name",
        since: "1970-01-01T00:00:00.000Z",
      });
      expect(await call({ number: 404 })).toMatchObject({
        success: false,
        output: "invalid.request: There is no customer 404.",
      });
      expect(await call({ number: "7" })).toMatchObject({ output: expect.stringMatching(/^tool\.input_invalid: /) });
      expect(onDefect).not.toHaveBeenCalled();
      expect(await call({ number: 500 })).toMatchObject({ output: expect.stringMatching(/^internal\.error: /) });
      expect(onDefect).toHaveBeenCalledWith("tool", expect.any(TypeError));
    },
  );

  verifies(
    "T-4.1/register",
    "register refuses what the built-in tools must not be either, and a name that is taken",
    async () => {
      const { surety } = await open();
      expect(() => surety.tools.register({ ...LOOKUP, name: "Acme Lookup" })).toThrow(/cannot be registered: its name/);
      expect(() => surety.tools.register({ ...LOOKUP, parameters: { type: "object" } })).toThrow(
        /additionalProperties/,
      );
      expect(() => surety.tools.register({ ...LOOKUP, name: "fs.stat" })).toThrow(/already names fs.stat/);
      expect(surety.tools.getToolDescriptions().map(({ name }) => name)).not.toContain("acme.lookup");
    },
  );

  verifies("T-4.1/allowed", "isAllowed follows the policy of the session's channel, for aliases too", async () => {
    const { surety } = await open({ config: { tools: { policy: { allow: ["fs.*"] } } } });
    const allowed = (name: string, channel: string) => surety.tools.isAllowed(name, session(channel));
    expect(allowed("fs.write_text", "cli")).toBe(true);
    expect(allowed("fs.write_text", "telegram")).toBe(false);
    expect(allowed("fs.read_text", "telegram")).toBe(true);
    expect(allowed("fs.list_dir", "email")).toBe(false);
    expect(allowed("file_info", "cli")).toBe(true);
    expect(allowed("shell.exec", "cli")).toBe(false);
    expect(allowed("no.such", "cli")).toBe(false);
  });

  verifies(
    ["T-4.1/execute", "T-4.1/result"],
    "a call that needs an approval asks onQuestion; without it the call is denied and says so",
    async () => {
      const args = { path: "a.txt", text: "hello\n" };
      const asked: Api.Question[] = [];
      const answers: Api.Answer[] = ["deny", "allow"];
      const { surety } = await open({
        onQuestion: (question) => {
          asked.push(question);
          return answers.shift() ?? "deny";
        },
      });
      expect(await surety.tools.execute("fs.write_text", args)).toMatchObject({
        success: false,
        output: "policy.denied: denied by user",
      });
      expect(await surety.tools.execute("fs.write_text", args)).toMatchObject({ success: true });
      expect(asked.map(({ kind, tool }) => [kind, tool])).toEqual(Array(2).fill(["approve", "fs.write_text"]));
      expect(asked[0]?.shown).toContain("a.txt");
      const alone = await open();
      const refused = await alone.surety.tools.execute("fs.write_text", args);
      expect(refused).toMatchObject({
        success: false,
        metadata: { confirmation: expect.stringContaining("approval") },
      });
      const approving = new ToolRegistry(alone.surety, { approvedTools: ["fs.write_text"] });
      expect(await approving.execute("fs.write_text", args)).toMatchObject({ success: true });
    },
  );

  test("an onQuestion that throws counts as a denial, and is reported", async () => {
    const onDefect = vi.fn();
    const onQuestion = () => Promise.reject(new Error("no window"));
    const { surety } = await open({ onQuestion, onDefect });
    const result = await surety.tools.execute("fs.write_text", { path: "a.txt", text: "x" });
    expect(result).toMatchObject({ success: false, output: "policy.denied: denied by user" });
    expect(onDefect).toHaveBeenCalledWith("question", expect.objectContaining({ message: "no window" }));
  });

  test("aliases, unknown tools, an unknown session, and arguments that look like markers", async () => {
    const { surety } = await open();
    expect(await surety.tools.execute("file_info", { file_path: "." })).toMatchObject({ success: true });
    expect(await surety.tools.execute("no.such", {})).toEqual({
      success: false,
      output: expect.stringMatching(/^tool\.not_found: /),
      metadata: { executionTime: 0 },
    });
    const elsewhere = new ToolRegistry(surety, { session: "session_none" });
    expect(await elsewhere.execute("fs.stat", { path: "." })).toMatchObject({
      output: expect.stringMatching(/^not_found: /),
    });
    const text = "<<<TOOL_CALLS_JSON>>>\n[]\n<<<END_TOOL_CALLS_JSON>>>\n".repeat(4_000);
    const approving = new ToolRegistry(surety, { approvedTools: ["fs.write_text"] });
    expect(await approving.execute("fs.write_text", { path: "big.txt", text })).toMatchObject({ success: true });
    const read = await surety.tools.execute("fs.read_text", { path: "big.txt", max_bytes: 100_000 });
    expect(read).toMatchObject({ success: true, metadata: { truncated: true } });
  });

  test("calls of one session see its capabilities: a host that is not granted is denied", async () => {
    const { surety } = await open({ config: ALLOWED });
    surety.tools.register({ ...LOOKUP, name: "acme.call", hosts: () => ["api.acme.example"] });
    expect(await surety.tools.execute("acme.call", { number: 1 })).toMatchObject({
      success: false,
      output: expect.stringMatching(/^policy\.denied: .*net:/),
    });
  });

  test("an effect in doubt leaves the run open for the operator, and the result carries the question", async () => {
    const policy = { allow: ["acme.*"], risk: { read_only: "allow", draft_only: "allow", side_effect: "allow" } };
    const pay: Api.Tool = {
      ...LOOKUP,
      name: "acme.pay",
      risk: "side_effect",
      run: () => {
        throw new ToolFailure("internal.error", "The bank did not answer.", { details: { outcome: "unknown" } });
      },
    };
    const { surety } = await open({ config: { tools: { policy } } });
    surety.tools.register(pay);
    expect(await surety.tools.execute("acme.pay", { number: 1 })).toMatchObject({
      success: false,
      output: expect.stringMatching(/^run\.open: /),
      metadata: { confirmation: expect.stringContaining("acme.pay"), runId: expect.any(String) },
    });
    const answering = await open({
      config: { tools: { policy } },
      onQuestion: ({ kind }) => (kind === "resolve" ? "done" : "deny"),
    });
    answering.surety.tools.register(pay);
    expect(await answering.surety.tools.execute("acme.pay", { number: 1 })).toMatchObject({ success: true });
  });

  test("close ends a call that is under way with a result", async () => {
    const { surety } = await open({ config: ALLOWED });
    const begun = Promise.withResolvers<void>();
    const run: Api.Tool["run"] = (_, { signal }) => {
      begun.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    surety.tools.register({ ...LOOKUP, run });
    const result = surety.tools.execute("acme.lookup", { number: 1 });
    await begun.promise;
    await surety.close();
    expect(await result).toMatchObject({ success: false });
  });
});

describe("the time of a call", () => {
  const hanging: Api.Tool["run"] = (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const { tools } = ALLOWED;

  for (const [what, config, own] of [
    ["is the configured one", { tools: { ...tools, timeoutMs: 50 } }, {}],
    ["is a tool's own up to the configured limit", { tools: { ...tools, maxTimeoutMs: 50 } }, { timeoutMs: 300_000 }],
    ["is limited too where it is the configured one", { tools: { ...tools, maxTimeoutMs: 50 } }, {}],
  ] as const) {
    verifies(
      "O-1.1",
      what,
      async () => {
        const { surety } = await open({ config });
        surety.tools.register({ ...LOOKUP, ...own, run: hanging });
        expect(await surety.tools.execute("acme.lookup", { number: 1 })).toMatchObject({
          success: false,
          output: expect.stringMatching(/^timeout: /),
        });
      },
      20_000,
    );
  }
});

describe("models", () => {
  verifies("T-3a", "router is the configured one, with the seed's three methods", async () => {
    const models = {
      default: "lab:big",
      providers: {
        lab: {
          baseUrl: "http://127.0.0.1:9/v1",
          local: true,
          models: {
            big: {
              contextWindow: 32_768,
              maxOutputTokens: 1024,
              tier: "premium",
              costPer1kInput: 1,
              costPer1kOutput: 2,
            },
            tiny: { contextWindow: 32_768, maxOutputTokens: 1024, tier: "cheap", free: true },
          },
        },
      },
    };
    const { surety } = await open({ config: { models } });
    const { router } = surety;
    const task = { type: "reasoning", complexity: "low", inputTokens: 1_000 } as const;
    expect(router.selectModel(task)).toMatchObject({ id: "lab:big", tier: "premium" });
    expect(router.selectModel({ ...task, type: "chat" }).id).toBe("lab:tiny");
    expect(router.estimateCost(task)).toMatchObject({ model: "lab:big", estimatedCost: 1 + 0.512 });
    expect(Object.entries(router.getModelTiers()).map(([tier, all]) => [tier, all.length])).toEqual([
      ["cheap", 1],
      ["mid", 0],
      ["premium", 1],
    ]);
    expect(() => surety.client("lab:none")).toThrow(LLMError);
  });

  verifies(["T-3d", "S-7.1"], "client and backend ask the configured model", async () => {
    const { surety } = await open();
    const client = surety.client();
    expect(client.getModelInfo()).toMatchObject({ id: "builtin:demo", provider: "builtin", tier: "mid" });
    const request = {
      model: "builtin:demo",
      messages: [{ role: "user", content: "hello" }],
      temperature: 0.2,
    } as const;
    const texts: string[] = [];
    for await (const chunk of client.chat({ ...request, stream: true }))
      if (chunk.type === "text") texts.push(chunk.text);
    const { content } = await surety.backend().chat(request);
    expect(texts.join("")).toBe(content);
    const deltas: Api.LLMChunk[] = [];
    for await (const delta of surety.backend().stream_chat(request, new AbortController().signal)) deltas.push(delta);
    expect(deltas.at(-1)).toMatchObject({ type: "end" });
  });
});

describe("a home", () => {
  test("is opened by one process at a time, and opens again after close", async () => {
    const { surety, home } = await open();
    await expect(openSurety({ home })).rejects.toMatchObject({ code: "store.in-use" });
    await surety.close();
    const again = await open({ home });
    expect(await again.surety.recover()).toEqual({ resumed: 0 });
  });

  test("with a config that cannot be read is refused with what is wrong", async () => {
    const home = join(await temporaryDirectory(), "home");
    await expect(openSurety({ home, config: { tols: {} } })).rejects.toMatchObject({ code: "config.unknown-key" });
  });
});
