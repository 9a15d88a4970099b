import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { answer, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const MODEL = { contextWindow: 32_768, maxOutputTokens: 1024 };
const KEY = "sk-Kq7ZpX2mVb9RtYw4NcHs6LdJf8Ga3Eu1";

async function homeWith(models: object): Promise<string> {
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  await writeFile(join(directory, "surety.json5"), JSON.stringify({ models }));
  return directory;
}

async function serverOf(models?: () => Reply) {
  const server = await startOpenAiServer(() => answer({ text: "hello" }), models === undefined ? {} : { models });
  onTestFinished(() => server.close());
  return server;
}

async function surety(directory: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  const variables: Readonly<Record<string, string>> = { OPENAI_API_KEY: KEY };
  const code = await main(["--home", directory, ...words], streams, (name) => variables[name]);
  return { code, ...streams.written() };
}

describe("surety models ls", () => {
  test("says of each model what it is, what it costs, how it conformed and what it lacks", async () => {
    const directory = await homeWith({
      default: "openai:gpt-4o",
      providers: {
        openai: { models: { "gpt-4o": { ...MODEL, costPer1kInput: 0.0025, costPer1kOutput: 0.01, tier: "premium" } } },
        moonshot: { models: { k: { ...MODEL, profile: "marker-json" } } },
        ollama: { models: { "llama3:8b": { ...MODEL, contextWindow: 2048, supportsTools: false, free: true } } },
        off: { enabled: false, baseUrl: "http://127.0.0.1:1/v1", models: { m: MODEL } },
      },
    });
    await mkdir(join(directory, "conformance"));
    const report = { model: "openai:gpt-4o", at: "2026-02-15T10:00:00.000Z", cases: [], passed: 17, failed: 1 };
    await writeFile(join(directory, "conformance", "openai%3Agpt-4o.json"), JSON.stringify(report));
    await writeFile(join(directory, "conformance", "broken.json"), "{");
    await writeFile(join(directory, "conformance", "other.json"), '{"model": 1}');
    await mkdir(join(directory, "conformance", "folder.json"));
    const { code, stdout, stderr } = await surety(directory, "models", "ls", "--json");
    expect([code, stderr]).toEqual([0, ""]);
    const rows = JSON.parse(stdout).models;
    expect(rows.map(({ model }: { readonly model: string }) => model)).toEqual([
      "openai:gpt-4o",
      "moonshot:k",
      "ollama:llama3:8b",
      "builtin:demo",
    ]);
    expect(rows).toMatchObject([
      {
        ...{ default: true, profile: "native-tools", tier: "premium", holds_required: true, problem: null },
        ...{ context_window: 32_768, max_output_tokens: 1024, cost_per_1k_input: 0.0025, cost_per_1k_output: 0.01 },
        conformance: { at: report.at, passed: 17, failed: 1 },
      },
      { default: false, profile: "marker-json", holds_required: null, problem: "Missing MOONSHOT_API_KEY" },
      { context_window: 4096, supports_tools: false, holds_required: false, free: true, conformance: null },
      { kind: "builtin", free: true, problem: null },
    ]);
    const printed = (await surety(directory, "models", "ls")).stdout;
    expect(printed).toContain("openai:gpt-4o (default)");
    expect(printed).toContain("17 of 18 passed, 2026-02-15");
    expect(printed).toContain("0.0025 in, 0.01 out");
    expect(printed).not.toContain(KEY);
  });

  test("does without what conformance runs found, where a file stands in their place", async () => {
    const directory = await homeWith({ default: "builtin:demo" });
    await writeFile(join(directory, "conformance"), "");
    expect((await surety(directory, "models", "ls")).code).toBe(0);
  });

  test("makes no home where there is none", async () => {
    const directory = await temporaryDirectory();
    const { code, stdout } = await surety(join(directory, "none"), "models", "ls");
    expect([code, stdout]).toEqual([0, expect.stringContaining("builtin:demo (default)")]);
    expect(await readdir(directory)).toEqual([]);
  });
});

describe("surety models check", () => {
  const listing = (...ids: readonly string[]) => json(200, { data: ids.map((id) => ({ id })) });

  test("looks at the default model without a reference, completes nothing, and says what was found", async () => {
    const [good, bad] = [await serverOf(() => listing("a", "b")), await serverOf(() => json(401, { error: KEY }))];
    const directory = await homeWith({
      default: "good:a",
      providers: {
        good: { baseUrl: good.baseUrl, local: true, models: { a: MODEL, b: MODEL, c: MODEL } },
        openai: { baseUrl: bad.baseUrl, models: { m: MODEL } },
      },
    });
    const detail = "the provider answers and knows the model";
    expect(await surety(directory, "models", "check")).toEqual({
      code: 0,
      stdout: `ok good:a: ${detail}\n`,
      stderr: "",
    });
    expect([good.checks.length, bad.connections]).toEqual([1, 0]);
    const one = await surety(directory, "models", "check", "good:b", "--json");
    expect(JSON.parse(one.stdout)).toEqual({ models: [{ model: "good:b", ok: true, problem: null, detail }] });
    const missing = await surety(directory, "models", "check", "good:c");
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("does not list the model c")]);
    const refused = await surety(directory, "models", "check", "openai:m");
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(
      /^error model\.unusable: http:\S+ refused the API key \(HTTP 401\): set the right one in OPENAI_API_KEY\n$/,
    );
    expect(bad.checks[0]?.authorization).toBe(`Bearer ${KEY}`);
    expect([...good.requests, ...bad.requests]).toEqual([]);
  });

  test("where several could be meant, one has to be named", async () => {
    const provider = { baseUrl: "http://127.0.0.1:1/v1", local: true, models: { a: MODEL } };
    const directory = await homeWith({ providers: { one: provider, two: provider } });
    const { code, stderr } = await surety(directory, "models", "check");
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("No default model: set models.default, or name one of"),
    ]);
  });

  test.each([
    ["good:zz", "No such model of good: zz; configured: a"],
    ["nobody:a", "No such provider: nobody; configured: good:a, builtin:demo; for a run also auto"],
    ["nobody", "Name a model as provider:model; configured: good:a, builtin:demo; for a run also auto"],
  ])("%s: one line", async (ref, line) => {
    const directory = await homeWith({
      providers: { good: { baseUrl: "http://127.0.0.1:1/v1", local: true, models: { a: MODEL } } },
    });
    const { code, stderr } = await surety(directory, "models", "check", ref);
    expect([code, stderr]).toEqual([1, `error model.unusable: ${line}\n`]);
  });
});

test.each([
  ["openai", "max_completion_tokens"],
  ["lab", "max_tokens"],
])("%s is told how long its answer may be by %s, wherever it is", async (id, field) => {
  const server = await serverOf();
  const provider = { baseUrl: server.baseUrl, local: true, models: { m: MODEL } };
  await surety(await homeWith({ providers: { [id]: provider } }), "run", "hello");
  expect(server.requests[0]?.body).toHaveProperty(field);
});

test.each([403, 500])("a list of models that answers %i keeps no run from its model", async (status) => {
  const server = await serverOf(() => json(status, {}));
  const directory = await homeWith({
    providers: { lab: { baseUrl: server.baseUrl, local: true, models: { m: MODEL } } },
  });
  expect(await surety(directory, "run", "hello")).toMatchObject({ code: 0, stdout: "hello\n" });
});

describe("a profile", () => {
  verifies(
    ["M-P2b"],
    "that cannot hold strict_mode, required and token_gate fails preflight before the network",
    async () => {
      const server = await serverOf();
      const models = {
        native: MODEL,
        marker: { ...MODEL, profile: "marker-json" },
        toolless: { ...MODEL, supportsTools: false },
      };
      const directory = await homeWith({ providers: { lab: { baseUrl: server.baseUrl, local: true, models } } });
      const strict = ["--require", "fs.list_dir", "--strict"];
      for (const name of ["marker", "toolless"]) {
        const { code, stderr } = await surety(directory, "run", "list files", "--model", `lab:${name}`, ...strict);
        expect([name, code, stderr]).toEqual([name, 1, expect.stringContaining("contract.profile-incompatible")]);
      }
      expect(server.requests).toEqual([]);
      await surety(directory, "run", "list files", "--model", "lab:native", ...strict);
      expect(server.requests[0]?.body.tool_choice).toBe("required");
    },
  );

  verifies(["M-P2b"], "of a provider that is known not to hold it does so at any address, unless told", async () => {
    const server = await serverOf();
    const models = { m: MODEL, told: { ...MODEL, supportsToolChoice: true } };
    const directory = await homeWith({ providers: { ollama: { baseUrl: server.baseUrl, models } } });
    const ask = (name: string) =>
      surety(directory, "run", "list files", "--model", `ollama:${name}`, "--require", "fs.list_dir", "--strict");
    expect((await ask("m")).stderr).toContain("contract.profile-incompatible");
    expect(server.requests).toEqual([]);
    await ask("told");
    expect(server.requests[0]?.body.tool_choice).toBe("required");
  });
});
