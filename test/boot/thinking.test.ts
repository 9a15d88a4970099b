/** Thinking, the whole way through: from the wish to the wire, and from the wire back to the model, over a restart. */
import { writeFile } from "node:fs/promises";
import { Type } from "typebox";
import { describe, expect, onTestFinished, test } from "vitest";
import { defineTool, type Tool } from "../../src/adapters/tools/define-tool.ts";
import type { RunRequest } from "../../src/assistant/runs/run-request.ts";
import { type Home, openHome } from "../../src/boot/home.ts";
import { main } from "../../src/boot/main.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import type { Surety } from "../../src/boot/opened-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { agentChunks } from "../../src/kernel/journal/views/agent-chunks.ts";
import { traceEvents } from "../../src/kernel/journal/views/trace-events.ts";
import type { RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { readBodiesOf, readWholeJournal } from "../../src/runtime/run/read-run.ts";
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import type { MessagesRequestBody } from "../loopback/messages-rules.ts";
import { answer, type ChatRequestBody, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { capturedStreams } from "./captured-streams.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

const THOUGHT = "canary: the clock, then";
const HIDDEN = "hidden canary";
const TOKEN = "hunter2-hunter2-hunter2-hunter2";
const look = { name: "clock.now", arguments: {} };

interface Wire {
  readonly kind: "anthropic" | "openai_compatible";
  readonly model: string;
  /** A server that refuses to go on without what the model thought, or with anything else instead. */
  start(script: (index: number) => Reply): Promise<{
    readonly baseUrl: string;
    readonly texts: () => readonly string[];
    /** What each request said of how much to think, and what of it came back. */
    readonly asked: () => readonly { readonly effort: unknown; readonly thoughts: readonly unknown[] }[];
  }>;
}

const MESSAGES: Wire = {
  kind: "anthropic",
  // One that is given a budget: the server then insists on its thoughts.
  model: "claude-sonnet-4-5",
  async start(script) {
    const server = await startAnthropicServer((_, index) => script(index));
    onTestFinished(() => server.close());
    const thoughtsIn = ({ messages }: MessagesRequestBody) =>
      messages.flatMap(({ content }) =>
        content.filter(({ type }) => type.endsWith("thinking")).map(({ type }) => type),
      );
    return {
      baseUrl: server.baseUrl,
      texts: () => server.requests.map(({ text }) => text),
      asked: () => server.requests.map(({ body }) => ({ effort: body.thinking?.type, thoughts: thoughtsIn(body) })),
    };
  },
};

const CHAT: Wire = {
  kind: "openai_compatible",
  model: "gpt-5",
  async start(script) {
    const thoughtsIn = ({ messages }: ChatRequestBody) =>
      messages.flatMap((message) => (message["tool_calls"] === undefined ? [] : [message["reasoning_content"]]));
    const server = await startOpenAiServer(({ body }, index) =>
      thoughtsIn(body).includes(undefined) ? json(400, { error: { message: "no reasoning_content" } }) : script(index),
    );
    onTestFinished(() => server.close());
    return {
      baseUrl: server.baseUrl,
      texts: () => server.requests.map(({ text }) => text),
      asked: () => server.requests.map(({ body }) => ({ effort: body.reasoning_effort, thoughts: thoughtsIn(body) })),
    };
  },
};

const WIRES: readonly Wire[] = [MESSAGES, CHAT];
const thinksAndCalls = answer({ reasoning: THOUGHT, hidden: HIDDEN, calls: [look] });
const thinksAndAnswers = answer({ reasoning: "canary: noon, then", text: "It is noon." });
const inTurn = (index: number): Reply => (index === 0 ? thinksAndCalls : thinksAndAnswers);

function configOf({ kind, model }: Wire, baseUrl: string, more: object = {}, agents: object = {}): string {
  const models = { [model]: { contextWindow: 100_000, maxOutputTokens: 32_000, ...more } };
  return JSON.stringify({
    models: { default: `p:${model}`, providers: { p: { kind, baseUrl, local: true, models } } },
    agents,
    tools: { policy: { allow: ["*"], channels: { cli_local: ["*"] } } },
  });
}

const CLOSED = { additionalProperties: false };

function clockTool(run: (signal: AbortSignal) => Promise<string>): Tool {
  return defineTool({
    ...{ name: "clock.now", description: "Tell the time.", parameters: Type.Object({}, CLOSED) },
    ...{ risk: "read_only", idempotency: "read_only", summarize: () => "time" },
    plan: () => ({ labels: USER_LABELS, shown: "Look at the clock" }),
    run: (_call, { signal }) => run(signal),
  });
}

const NOON = clockTool(() => Promise.resolve("12:00"));

/** One life of the process on a home. */
async function live(home: Home, config: string, tool: Tool = NOON): Promise<Surety> {
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: TOKEN, approver: noApprover, moreTools: [tool] },
    config: readOk(config),
    readVariable: () => undefined,
    onDefect: (_id, error) => {
      throw error;
    },
  });
  let isOpen = true;
  onTestFinished(() => (isOpen ? surety.close(1000) : undefined));
  return {
    ...surety,
    close: (graceMs) => {
      isOpen = false;
      return surety.close(graceMs);
    },
  };
}

async function newHome(): Promise<Home> {
  const home = await temporaryHome();
  await openHome(home);
  return home;
}

async function submit({ assistant }: Surety, also: Partial<RunRequest> = {}): Promise<RunId> {
  const submitted = await assistant.submit({
    ...{ agentId: "main", message: "When?", sessionId: null, model: null, thinkingMode: "always", contract: {} },
    ...{ approvedTools: [], source: "test", principal: "operator", idempotencyKey: null, ...also },
  });
  if (!submitted.ok) throw new Error(submitted.message);
  return submitted.runId;
}

/** Everything that was told of it, to its end. */
async function follow({ assistant }: Surety, runId: RunId) {
  const news: unknown[] = [];
  for await (const item of (await assistant.watch(runId, 0, new AbortController().signal)) ?? []) news.push(item);
  return { news, record: await assistant.run(runId) };
}

const WITH_THOUGHTS = {
  anthropic: ["thinking", "redacted_thinking"],
  openai_compatible: [THOUGHT],
} as const;
const EFFORT = { anthropic: "enabled", openai_compatible: "low" } as const;

describe.each(WIRES)("over $kind", (wire) => {
  const effort = EFFORT[wire.kind];
  const thoughts = WITH_THOUGHTS[wire.kind];

  test("what the model thought goes back to it with the result, after a restart too", async () => {
    const server = await wire.start(inTurn);
    const config = configOf(wire, server.baseUrl);
    const home = await newHome();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const stuck = clockTool((signal) => {
      begin();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const first = await live(home, config, stuck);
    const runId = await submit(first, { thinkingLevel: "low" });
    await begun;
    await first.close(0);
    expect(server.asked()).toEqual([{ effort, thoughts: [] }]);
    const second = await live(home, config);
    expect(await second.runtime.recover()).toEqual({ resumed: 1 });
    const { record } = await follow(second, runId);
    expect(record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", output: "It is noon." });
    expect(server.asked()).toEqual([
      { effort, thoughts: [] },
      { effort, thoughts },
    ]);
  });

  test("without thinking_mode no view shows it, and it is erased with its message", async () => {
    const server = await wire.start(inTurn);
    const surety = await live(await newHome(), configOf(wire, server.baseUrl));
    const runId = await submit(surety, { thinkingLevel: "low", thinkingMode: "never" });
    const { news, record } = await follow(surety, runId);
    expect(record?.output).toBe("It is noon.");
    const { store } = surety;
    const { entries } = await readWholeJournal(store, runId);
    const run = await store.findRun(runId);
    if (run === null) throw new Error("it is gone");
    const bodies = await readBodiesOf(store, run, entries);
    const views = [agentChunks(entries, (ref) => bodies.get(ref)?.text ?? null, false), traceEvents(entries)];
    expect(JSON.stringify([news, record, entries, views])).not.toContain("canary");
    const holding = [...bodies].filter(([, { text }]) => text.includes("canary")).map(([ref]) => ref);
    const said = entries.flatMap(({ result }) => (result?.type === "model.answered" ? [result.messageRef] : []));
    expect(holding).toEqual([said[0]]);
    const left = [...bodies].filter(([ref]) => !holding.includes(ref));
    expect(JSON.stringify(left)).not.toContain("canary");
  });

  test("a secret in it is kept nowhere and sent nowhere, and the run goes on", async () => {
    const leaks = answer({ reasoning: `canary ${TOKEN}`, calls: [look] });
    const server = await wire.start((index) => (index === 0 ? leaks : inTurn(index)));
    const surety = await live(await newHome(), configOf(wire, server.baseUrl));
    const runId = await submit(surety, { thinkingLevel: "low" });
    const { record } = await follow(surety, runId);
    expect(record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS" });
    expect(server.texts().join()).not.toContain(TOKEN);
    const bundle = await surety.assistant.bundle(runId);
    expect(bundle.ok && bundle.text.includes(TOKEN)).toBe(false);
    // What is signed is not altered: it is left out, and the turn ends without thinking.
    const without = { effort: undefined, thoughts: [] };
    const redacted = { effort, thoughts: [expect.stringMatching(/^canary .secret:/)] };
    expect(server.asked()[1]).toEqual(wire.kind === "anthropic" ? without : redacted);
  });

  test("the level is the request's, the agent's or the model's", async () => {
    const server = await wire.start(() => answer({ text: "Hi." }));
    const agents = { deep: { thinkingLevel: "high" }, plain: {} };
    const surety = await live(await newHome(), configOf(wire, server.baseUrl, { thinkingLevel: "medium" }, agents));
    for (const agentId of ["plain", "deep"]) await follow(surety, await submit(surety, { agentId }));
    await follow(surety, await submit(surety, { agentId: "deep", thinkingLevel: "off" }));
    const levels = server.texts().map((text) => {
      const { reasoning_effort, thinking } = JSON.parse(text);
      return reasoning_effort ?? thinking.budget_tokens ?? thinking.type;
    });
    expect(levels).toEqual(wire.kind === "anthropic" ? [4_096, 16_384, "disabled"] : ["medium", "high", "minimal"]);
  });
});

describe("what a server wants back of a call goes back as it came, after a restart too:", () => {
  const call = { id: "call_g1", type: "function", function: { name: "clock__now", arguments: "{}" } };
  const extra_content = { google: { thought_signature: "CiQBcHM0+Zw34/Xy12==" } };
  test.each<[string, object, object, object]>([
    ["Gemini's signature", {}, { extra_content }, {}],
    ["a thought that is empty", { reasoning_content: "" }, {}, { reasoning_content: "" }],
  ])("%s", async (_, message, beside, again) => {
    const calls = json(200, {
      ...{ id: "c", object: "chat.completion", created: 1, model: "gemini-3-pro" },
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: null, ...message, tool_calls: [{ ...call, ...beside }] },
          finish_reason: "tool_calls",
        },
      ],
    });
    const server = await startOpenAiServer((__, index) => (index === 0 ? calls : answer({ text: "It is noon." })));
    onTestFinished(() => server.close());
    const config = configOf({ ...CHAT, model: "gemini-3-pro" }, server.baseUrl);
    const home = await newHome();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const stuck = clockTool((signal) => {
      begin();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const first = await live(home, config, stuck);
    const runId = await submit(first);
    await begun;
    await first.close(0);
    const second = await live(home, config);
    await second.runtime.recover();
    expect((await follow(second, runId)).record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS" });
    const said = server.requests[1]?.body.messages.filter(({ tool_calls }) => tool_calls !== undefined);
    expect(said).toEqual([{ role: "assistant", content: null, tool_calls: [{ ...call, ...beside }], ...again }]);
  });
});

describe("surety run --thinking", () => {
  async function surety(home: Home, ...words: readonly string[]) {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, "run", ...words], streams, () => undefined);
    return { code, ...streams.written() };
  }

  test("asks the model for so much of it", async () => {
    const server = await CHAT.start(() => answer({ text: "Hi." }));
    const home = await newHome();
    await writeFile(home.configFile, configOf(CHAT, server.baseUrl));
    const { code, stdout } = await surety(home, "hello", "--thinking", "high", "--json");
    expect([code, JSON.parse(stdout).output]).toEqual([0, "Hi."]);
    expect(server.asked()).toEqual([{ effort: "high", thoughts: [] }]);
  });

  test("says nothing of a model that cannot be told", async () => {
    const home = await newHome();
    const told = await surety(home, "hello", "--thinking", "high");
    const { stdout } = await surety(home, "hello");
    expect([told.code, told.stdout]).toEqual([0, stdout]);
    expect(told.stderr).not.toMatch(/error|level|cannot/);
  });

  test("takes the four levels and no other", async () => {
    expect(await surety(await newHome(), "hello", "--thinking", "loud")).toEqual({
      code: 2,
      stdout: "",
      stderr: "error usage: --thinking loud is not a level\nThere is: off, low, medium, high.\n",
    });
  });
});
