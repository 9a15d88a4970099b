/** The corpus against real runs: what passes for a model that follows, and which cells fail for one that does not. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { describe, expect, onTestFinished, test } from "vitest";
import { CORPUS } from "../../src/assistant/conformance/corpus.ts";
import { main } from "../../src/boot/main.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { type ReceivedMessages, startAnthropicServer } from "../loopback/anthropic-server.ts";
import type { MessagesRequestBody } from "../loopback/messages-rules.ts";
import { obey, obeyInDocument, obeyInText, type Prompt, type Writing } from "../loopback/obedient-model.ts";
import {
  answer,
  type ChatRequestBody,
  json,
  type ReceivedRequest,
  type Reply,
  type ServerScript,
  startOpenAiServer,
} from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly expected: string;
  readonly outcome: string;
  readonly passed: boolean;
  readonly problem: string | null;
}

const SIX = [
  ["M-9.1", "COMPLETED_WITH_TOOLS"],
  ["M-9.2", "FAILED_PROTOCOL_MALFORMED"],
  ["M-9.3", "FAILED_PROTOCOL_NO_TOOLS"],
  ["M-9.4", "FAILED_CONTRACT_VIOLATION"],
  ["M-9.5", "COMPLETED_WITH_TOOLS"],
  ["M-9.6", "COMPLETED_WITH_TOOLS"],
];

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));

async function homeWith(config: object): Promise<string> {
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  await writeFile(join(directory, "surety.json5"), JSON.stringify(config));
  return directory;
}

function configFor(baseUrl: string, kind: string, model: object = {}): object {
  const models = { m: { contextWindow: 32_768, maxOutputTokens: 2_048, ...model } };
  return { models: { default: "loop:m", providers: { loop: { kind, baseUrl, local: true, models } } } };
}

/** The command on a home of its own. */
async function judge(config: object, ...words: readonly string[]) {
  const directory = await homeWith(config);
  const streams = capturedStreams();
  const code = await main(["--home", directory, "conformance", ...words], streams, () => undefined);
  return { directory, code, ...streams.written() };
}

/** The command against a scripted server. */
async function judgeServer(script: ServerScript, model: object = {}) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  return { server, ...(await judgeAt(configFor(server.baseUrl, "openai_compatible", model))) };
}

async function judgeAnthropic(script: (request: ReceivedMessages) => Reply, model: object = {}) {
  const server = await startAnthropicServer(script);
  onTestFinished(() => server.close());
  return await judgeAt(configFor(server.baseUrl, "anthropic", model));
}

async function judgeAt(config: object) {
  const judged = await judge(config, "--json");
  const report = JSON.parse(judged.stdout);
  return { ...judged, report, metrics: report.metrics, rows: report.cases as readonly Row[] };
}

function passedOf(rows: readonly Row[]): readonly string[] {
  return rows.filter(({ passed }) => passed).map(({ id }) => id);
}

function outcomesOf(rows: readonly Row[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rows.map(({ id, outcome }) => [id, outcome]));
}

function promptOf(body: ChatRequestBody): Prompt {
  const message = String(body.messages.findLast(({ role }) => role === "user")?.["content"]);
  const limits = body as { readonly max_tokens?: number; readonly max_completion_tokens?: number };
  return {
    message,
    hasResults: body.messages.some(({ role }) => role === "tool"),
    offered: (body.tools ?? []).map((tool) => tool.function.name.replaceAll("__", ".")),
    mustCall: body.tool_choice === "required",
    maxTokens: limits.max_tokens ?? limits.max_completion_tokens ?? 0,
  };
}

/** The same of a request in the other spelling. */
function promptIn({ messages, tools = [], tool_choice, max_tokens = 0 }: MessagesRequestBody): Prompt {
  const blocks = messages.filter(({ role }) => role === "user").flatMap(({ content }) => content);
  return {
    message: blocks.findLast(({ type }) => type === "text")?.text ?? "",
    hasResults: blocks.some(({ type }) => type === "tool_result"),
    offered: tools.map(({ name }) => name.replaceAll("__", ".")),
    mustCall: tool_choice?.type === "any",
    maxTokens: max_tokens,
  };
}

/** It thinks aloud before everything it does, on the channel that is there for it. */
function replyOf({ text, calls, isCut }: Writing): Reply {
  const reasoning = "Let me see: <<<NOTES_JSON>>> 17 + 25, carry the one.";
  return answer({ reasoning, text, calls, ...(isCut ? { finishReason: "length" } : {}) });
}

function native({ body }: ReceivedRequest): Reply {
  return replyOf(obey(promptOf(body)));
}

function inText({ body }: ReceivedRequest): Reply {
  const offered = offeredIn(String(body.messages.find(({ role }) => role === "system")?.["content"]));
  return replyOf(obeyInText({ ...promptOf(body), offered }));
}

/** A server that holds the model to the schema it is sent. */
function inDocument({ body }: ReceivedRequest): Reply {
  const schema = responseSchemaOf(body);
  const offered = offeredIn(String(body.messages.find(({ role }) => role === "system")?.["content"]));
  const required = (schema?.["required"] ?? []) as readonly string[];
  const mustCall = schema !== null && !required.includes("text");
  const prompt = { ...promptOf(body), offered: schema === null || required.includes("calls") ? offered : [], mustCall };
  const writing = obeyInDocument(prompt, required);
  if (schema !== null && !writing.isCut) expect(Compile(schema as TSchema).Check(JSON.parse(writing.text))).toBe(true);
  return replyOf(writing);
}

function responseSchemaOf(body: object): Readonly<Record<string, unknown>> | null {
  const { response_format: format } = body as {
    readonly response_format?: { readonly json_schema: { readonly schema: object } };
  };
  return (format?.json_schema.schema as Readonly<Record<string, unknown>> | undefined) ?? null;
}

function offeredIn(system: string): readonly string[] {
  return [...system.matchAll(/^- (\S+): /gm)].map(([, name = ""]) => name);
}

describe("a model that follows passes every case", () => {
  verifies(
    ["M-9/cases", "M-9/profiles", "M-P1/rates", "M-P1/inferences", "M-P5.3"],
    "the built-in model does, and that is kept with the baseline metrics",
    async () => {
      const { code, stdout, stderr, directory } = await judge({}, "--model", "builtin:demo", "--json");
      const report = JSON.parse(stdout);
      const file = join(directory, "conformance", "builtin%3Ademo.json");
      expect(code).toBe(0);
      expect(Object.keys(report)).toEqual(["model", "cases", "passed", "failed", "metrics"]);
      expect(report).toMatchObject({ model: "builtin:demo", passed: report.cases.length, failed: 0 });
      for (const row of report.cases as readonly Row[]) {
        expect(Object.keys(row)).toEqual(["id", "name", "expected", "outcome", "passed", "problem"]);
        expect(row).toMatchObject({ outcome: row.expected, passed: true, problem: null });
      }
      expect((report.cases as readonly Row[]).slice(0, 6).map(({ id, expected }) => [id, expected])).toEqual(SIX);
      expect(stderr).toBe("");
      expect(await readdir(join(directory, "workspace"))).toEqual([]);

      expect(await readdir(join(directory, "conformance"))).toEqual(["builtin%3Ademo.json"]);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const { at, ...kept } = JSON.parse(await readFile(file, "utf8"));
      expect(kept).toEqual(report);
      expect(Date.parse(at)).toBeGreaterThan(0);
      expect(report.metrics).toEqual({
        // All but the four that tell the model to break the rules.
        runs: report.cases.length - 4,
        no_tool_completion_rate: 0,
        parse_failure_rate: 0,
        // Nine with a tool, five without, one whose step was over before the second.
        inferences: { mean: (9 * 2 + 5 + 1) / 15, p95: 2 },
        duration_ms: { mean: expect.any(Number), p95: expect.any(Number) },
        max_step_exits: 0,
      });
    },
  );

  verifies(["M-P5.3/provider", "M-9/profiles"], "one with native tools does", async () => {
    const { code, report, rows, server } = await judgeServer(native);
    expect(rows.filter(({ passed }) => !passed)).toEqual([]);
    expect({ code, model: report.model }).toEqual({ code: 0, model: "loop:m" });
    expect(outcomesOf(rows)["strict"]).toBe("COMPLETED_WITH_TOOLS");
    // What the user's own tools are is no business of a corpus.
    const offered = server.requests.flatMap(({ body }) => promptOf(body).offered);
    expect(offered.filter((name) => !name.startsWith("conformance."))).toEqual([]);
  });

  verifies(["M-P5.3/provider", "M-9/profiles"], "one that calls tools in its text does", async () => {
    const { code, rows } = await judgeServer(inText, { profile: "marker-json" });
    expect(rows.filter(({ passed }) => !passed)).toEqual([]);
    expect(code).toBe(0);
    // It cannot be made to call a tool, so the contract that needs this is never sent.
    expect(rows.find(({ id }) => id === "strict")).toMatchObject({
      expected: "FAILED_PREFLIGHT",
      outcome: "FAILED_PREFLIGHT",
    });
  });
});

verifies(
  ["M-P5.3/provider", "M-9/profiles", "M-P5.2/applied"],
  "a model that a server holds to grammar-json passes every case",
  async () => {
    const { code, rows, server } = await judgeServer(inDocument, { profile: "grammar-json" });
    expect(rows.filter(({ passed }) => !passed)).toEqual([]);
    expect(code).toBe(0);
    expect(outcomesOf(rows)["strict"]).toBe("COMPLETED_WITH_TOOLS");
    const held = server.requests.filter(({ body }) => responseSchemaOf(body) !== null);
    expect(held.length).toBeGreaterThan(rows.length);
  },
);

describe("the same over the wire of anthropic-messages", () => {
  verifies(["M-P5.3/provider", "M-9/profiles"], "one with native tools", async () => {
    const { code, rows } = await judgeAnthropic(({ body }) => replyOf(obey(promptIn(body))));
    expect(rows.filter(({ passed }) => !passed)).toEqual([]);
    expect(code).toBe(0);
  });

  verifies(["M-P5.3/provider", "M-9/profiles"], "one that calls tools in its text", async () => {
    const follow = ({ body }: ReceivedMessages): Reply =>
      replyOf(obeyInText({ ...promptIn(body), offered: offeredIn(body.system ?? "") }));
    const { code, rows } = await judgeAnthropic(follow, { profile: "marker-json" });
    expect(rows.filter(({ passed }) => !passed)).toEqual([]);
    expect(code).toBe(0);
  });
});

describe("a model that does not follow fails the cases it should", () => {
  verifies(["M-P5.3/findings", "M-P1/rates"], "one that only talks", async () => {
    const { code, report, rows, metrics } = await judgeServer(() => answer({ text: "I will do that right away." }));
    expect(code).toBe(1);
    expect(passedOf(rows)).toEqual(["M-9.3", "forbidden-obeyed", "refusal"]);
    expect(report).toMatchObject({ passed: 3, failed: rows.length - 3 });
    expect(outcomesOf(rows)).toMatchObject({
      "M-9.1": "FAILED_PROTOCOL_NO_TOOLS",
      "M-9.4": "COMPLETED_CHAT_ONLY",
      "M-9.6": "COMPLETED_CHAT_ONLY",
    });
    expect(metrics).toMatchObject({
      no_tool_completion_rate: 1,
      parse_failure_rate: 0,
      inferences: { mean: 1, p95: 1 },
    });
  });

  verifies(["M-P5.3/findings", "M-P1/rates"], "one whose calls cannot be read", async () => {
    const { code, rows, metrics } = await judgeServer(() =>
      answer({ calls: [{ name: "conformance.echo", arguments: '{"te' }] }),
    );
    expect(code).toBe(1);
    expect(passedOf(rows)).toEqual(["M-9.2"]);
    expect(new Set(Object.values(outcomesOf(rows)))).toEqual(new Set(["FAILED_PROTOCOL_MALFORMED"]));
    expect(metrics).toMatchObject({ no_tool_completion_rate: 0, parse_failure_rate: 1, max_step_exits: 0 });
  });

  verifies("M-P5.3/findings", "one that repeats itself", async () => {
    const call = { name: "conformance.echo", arguments: { text: "surety" } };
    const { code, rows } = await judgeServer(() => answer({ calls: [call] }));
    expect(code).toBe(1);
    expect(passedOf(rows)).toEqual(["M-9.4"]);
    expect(outcomesOf(rows)).toMatchObject({
      "M-9.1": "FAILED_BUDGET_EXHAUSTED",
      "forbidden-obeyed": "FAILED_CONTRACT_VIOLATION",
    });
  });

  verifies("M-P1/exits", "one that never comes to an end", async () => {
    let count = 0;
    const { rows, metrics } = await judgeServer(() => {
      count += 1;
      return answer({ calls: [{ name: "conformance.echo", arguments: { text: `number ${count}` } }] });
    });
    expect(passedOf(rows)).toEqual(["M-9.4"]);
    // Those that may echo and are not told to break a rule; elsewhere the run ends for failures in a row, or a violation.
    expect(metrics.max_step_exits).toBe(11);
    expect(metrics).toMatchObject({ no_tool_completion_rate: 0, inferences: { p95: 10 } });
  });

  test("one with another's arguments: the outcome is right, and the case fails all the same", async () => {
    const { rows } = await judgeServer((request) => {
      const { text, calls } = obey({ ...promptOf(request.body), maxTokens: 10_000 });
      return answer({ text, calls: calls.map((call) => ({ ...call, arguments: call.arguments.replace("ë", "e") })) });
    });
    const failed = rows.filter(({ passed }) => !passed);
    // It heeds no limit of tokens either, so nothing is malformed.
    expect(failed.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["M-9.2", "COMPLETED_WITH_TOOLS"],
      ["unicode-arguments", "COMPLETED_WITH_TOOLS"],
    ]);
  });
});

describe("around it", () => {
  test("in words it is a matrix, and what it comes to", async () => {
    const { code, stdout, stderr } = await judge({});
    expect(code).toBe(0);
    expect(stderr.trim().split("\n")).toHaveLength(CORPUS.length);
    expect(stdout).toMatch(/^M-9\.1 +required tool, valid call +COMPLETED_WITH_TOOLS +COMPLETED_WITH_TOOLS +yes$/m);
    expect(stdout).toMatch(/^builtin:demo: \d+ passed, 0 failed$/m);
  });

  test("why a case failed stands in the matrix, in the report, and in what is listed of it later", async () => {
    const server = await startOpenAiServer(() => answer({ text: "I will do that right away." }));
    onTestFinished(() => server.close());
    const { directory, stdout } = await judge(configFor(server.baseUrl, "openai_compatible"));
    const problem = "FAILED_PROTOCOL_NO_TOOLS (protocol.no-tool-call) instead of COMPLETED_WITH_TOOLS";
    expect(stdout.split("\n").find((line) => line.startsWith("M-9.1 "))).toContain(`no: ${problem}`);
    const kept = JSON.parse(await readFile(join(directory, "conformance", "loop%3Am.json"), "utf8"));
    expect(kept.cases[0]).toMatchObject({ id: "M-9.1", passed: false, problem });
    const streams = capturedStreams();
    await main(["--home", directory, "models", "ls", "--json"], streams, () => undefined);
    const [{ conformance }] = JSON.parse(streams.written().stdout).models;
    expect(conformance.failures).toHaveLength(kept.failed);
    expect(conformance.failures[0]).toEqual({
      ...{ id: "M-9.1", expected: "COMPLETED_WITH_TOOLS", outcome: "FAILED_PROTOCOL_NO_TOOLS", problem },
    });
  });

  test("an interruption cancels the case at work, keeps nothing and leaves nothing behind", async () => {
    const server = await startOpenAiServer(() => ({ kind: "hang" }));
    onTestFinished(() => server.close());
    const directory = await homeWith(configFor(server.baseUrl, "openai_compatible"));
    const child = spawn(process.execPath, [ENTRY, "--home", directory, "conformance", "--json"]);
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    const ended = once(child, "close");
    const { closed } = await server.arrival(0);
    child.kill("SIGINT");
    expect(await closed).toBe("by-client");
    expect(await ended).toEqual([130, null]);
    expect(await readdir(join(directory, "conformance"))).toEqual([]);
  });

  test("what a killed one left is cleared by the next, but not what another works in, nor what is new", async () => {
    const server = await startOpenAiServer(() => ({ kind: "hang" }));
    onTestFinished(() => server.close());
    const directory = await homeWith(configFor(server.baseUrl, "openai_compatible"));
    const folder = join(directory, "conformance");
    const left = async () => (await readdir(folder)).filter((name) => name.startsWith(".run-"));
    const begin = async (index: number) => {
      const child = spawn(process.execPath, [ENTRY, "--home", directory, "conformance"]);
      onTestFinished(() => {
        child.kill("SIGKILL");
      });
      await server.arrival(index);
      return child;
    };
    const killed = await begin(0);
    const ended = once(killed, "close");
    killed.kill("SIGKILL");
    await ended;
    const [stale = ""] = await left();
    expect(stale).not.toBe("");
    const next = await begin(1);
    expect(await left()).toHaveLength(2);
    await mkdir(join(folder, ".run-new"));
    const anHourAgo = new Date(systemClock.nowMs() - 3_600_000);
    for (const name of (await left()).filter((each) => each !== ".run-new")) {
      await utimes(join(folder, name), anHourAgo, anHourAgo);
    }
    const words = ["--home", directory, "conformance", "--model", "builtin:demo"];
    expect(await main(words, capturedStreams(), () => undefined)).toBe(0);
    const still = await left();
    expect(still).toHaveLength(2);
    expect(still).not.toContain(stale);
    expect(still).toContain(".run-new");
    const gone = once(next, "close");
    next.kill("SIGINT");
    await gone;
    expect(await left()).toEqual([".run-new"]);
  });

  test("where nobody listens it ends with the first case, in one line, and nothing is kept", async () => {
    const config = configFor("http://127.0.0.1:1/v1", "openai_compatible");
    const { directory, code, stdout, stderr } = await judge(config);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^error backend\.unresponsive: M-9\.1 got no answer: http:\S+ cannot be reached.*\nSee surety models check\.\n$/,
    );
    expect(await readdir(join(directory, "conformance"))).toEqual([]);
  });

  test.each([
    [401, "The provider refused the API key (HTTP 401)"],
    [404, "The provider does not know this model or address (HTTP 404)"],
    [500, "The provider answered HTTP 500."],
  ])("a provider that answers %i to completions says nothing of the model", async (status, finding) => {
    const server = await startOpenAiServer(() => json(status, {}));
    onTestFinished(() => server.close());
    const { directory, code, stdout, stderr } = await judge(configFor(server.baseUrl, "openai_compatible"), "--json");
    expect([code, stdout]).toEqual([1, ""]);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "provider.unavailable",
      message: expect.stringContaining(`M-9.1 got no answer: ${finding}`),
    });
    expect(await readdir(join(directory, "conformance"))).toEqual([]);
  });

  test("what passes when it is asked again counts against no model", async () => {
    const { code, rows } = await judgeServer((request, index) => (index % 5 === 4 ? json(500, {}) : native(request)));
    expect(rows.filter(({ passed }) => !passed)).toEqual([]);
    expect(code).toBe(0);
  });

  test.each([
    [{ perRunTokens: 40 }, "M-9.1 needs more tokens than one run may use (perRunTokens)"],
    [{ perRunTokens: 1_500 }, "needs more tokens than one run may use (perRunTokens)"],
    [{ perRunUsd: 0.001 }, "no budget left for M-9.1"],
  ])("a limit of %j that a run reaches ends it, and nothing is kept", async (budgets, line) => {
    const server = await startOpenAiServer(native);
    onTestFinished(() => server.close());
    const prices = { costPer1kInput: 0.001, costPer1kOutput: 0.001 };
    const config = { ...configFor(server.baseUrl, "openai_compatible", prices), budgets };
    const { directory, code, stdout, stderr } = await judge(config);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(line);
    expect(await readdir(join(directory, "conformance"))).toEqual([]);
  });

  test("a provider that goes away ends it as well", async () => {
    let closing: Promise<void> | undefined;
    const server = await startOpenAiServer((request, index) => {
      if (index < 2) return native(request);
      closing ??= server.close();
      return { kind: "reset" };
    });
    const { directory, code, stdout, stderr } = await judge(configFor(server.baseUrl, "openai_compatible"));
    await closing;
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^1\/19 M-9\.1 .*: passed, .*\nerror provider\.unavailable: .*\nSee surety models check\.\n$/,
    );
    expect(await readdir(join(directory, "conformance"))).toEqual([]);
  });

  test("a model that is not configured, or has no key, is an error, and nothing is kept", async () => {
    const unknown = await judge({}, "--model", "nobody:m");
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("nobody");
    const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024 } };
    const config = { models: { default: "moonshot:m", providers: { moonshot: { models } } } };
    const keyless = await judge(config);
    expect(keyless).toMatchObject({ code: 1, stdout: "" });
    expect(keyless.stderr).toMatch(/Missing MOONSHOT_API_KEY\n$/);
    expect(await readdir(join(keyless.directory, "conformance"))).toEqual([]);
  });
});
