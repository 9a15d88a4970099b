/**
 * The provider group of the contract test matrix (P-6, group 1): a missing key fails, a `warn` start goes on, each model's
 * own context is enforced; and what else must hold before and at the network.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { type GatewayProcess, NeverReady, startGateway } from "../faults/gateway-process.ts";
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import { answer, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = join(import.meta.dirname, "../../src/boot/surety.ts");
const MODEL = { contextWindow: 32_768, maxOutputTokens: 1024 };
const KEY = "sk-Kq7ZpX2mVb9RtYw4NcHs6LdJf8Ga3Eu1";

async function homeWith(models: object): Promise<string> {
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  await writeFile(join(directory, "surety.json5"), JSON.stringify({ models }));
  return directory;
}

async function serverOf(reply: () => Reply = () => answer({ text: "hello" }), models?: () => Reply) {
  const server = await startOpenAiServer(reply, models === undefined ? {} : { models });
  onTestFinished(() => server.close());
  return server;
}

async function surety(directory: string, variables: Readonly<Record<string, string>>, ...words: readonly string[]) {
  const streams = capturedStreams();
  const code = await main(["--home", directory, ...words], streams, (name) => variables[name]);
  return { code, ...streams.written() };
}

/** A port that nobody listens on: one that was free a moment ago. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`;
}

async function start(directory: string): Promise<GatewayProcess> {
  const gateway = await startGateway([process.execPath, ENTRY, "--home", directory, "start", "--port", "0"]);
  onTestFinished(async () => {
    if (!gateway.isGone) await gateway.kill();
  });
  return gateway;
}

describe("a missing key", () => {
  verifies(
    ["P-0/downgrade", "P-1.3/message", "P-6/provider-key"],
    "fails by its exact name, in one line, and nobody is contacted instead",
    async () => {
      const [server, other] = [await serverOf(), await serverOf()];
      const directory = await homeWith({
        default: "moonshot:k",
        providers: {
          moonshot: { baseUrl: server.baseUrl, models: { k: MODEL } },
          other: { baseUrl: other.baseUrl, local: true, models: { m: MODEL } },
        },
      });
      const elsewhere = { OTHER_API_KEY: KEY, OPENAI_API_KEY: KEY };
      const ran = await surety(directory, elsewhere, "run", "hello");
      expect(ran).toEqual({ code: 1, stdout: "", stderr: "error invalid.request: Missing MOONSHOT_API_KEY\n" });
      const checked = await surety(directory, elsewhere, "models", "check", "moonshot:k");
      expect(checked).toEqual({ code: 1, stdout: "", stderr: "error model.unusable: Missing MOONSHOT_API_KEY\n" });
      expect([server.connections, other.connections]).toEqual([0, 0]);
    },
  );

  test("is found where it belongs: in the environment, or in .env of the home", async () => {
    const server = await serverOf();
    const directory = await homeWith({ providers: { moonshot: { baseUrl: server.baseUrl, models: { k: MODEL } } } });
    expect(await surety(directory, { MOONSHOT_API_KEY: KEY }, "run", "hello")).toMatchObject({ code: 0 });
    await writeFile(join(directory, ".env"), `MOONSHOT_API_KEY=${KEY}\n`, { mode: 0o600 });
    expect(await surety(directory, {}, "run", "hello")).toMatchObject({ code: 0 });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);
  });
});

test("a key that the provider refuses is named as what is wrong, now and later", async () => {
  const server = await serverOf(() => json(401, { error: { message: "no" } }));
  const directory = await homeWith({ providers: { moonshot: { baseUrl: server.baseUrl, models: { k: MODEL } } } });
  const ran = await surety(directory, { MOONSHOT_API_KEY: KEY }, "run", "hello");
  const finding =
    'The provider refused the API key (HTTP 401): set the right one in MOONSHOT_API_KEY. The provider says: "no"';
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`\n${finding}\n`)]);
  const id = /run_\w+/.exec(ran.stderr)?.[0] ?? "";
  expect((await surety(directory, {}, "runs", "show", id)).stdout).toContain(finding);
});

test("a provider that wants to be left alone for longer than a run waits is not asked again", async () => {
  const server = await serverOf(() => json(429, {}, { "retry-after": "7200" }));
  const directory = await homeWith({
    providers: { lab: { baseUrl: server.baseUrl, local: true, models: { m: MODEL } } },
  });
  const { code, stderr } = await surety(directory, {}, "run", "hello");
  expect([code, stderr]).toEqual([1, expect.stringContaining("asks to wait 120 minutes: try again then.")]);
  expect(server.requests).toHaveLength(1);
});

test.each([
  [
    "openai_compatible",
    startOpenAiServer,
    { choices: [{ index: 0, finish_reason: "content_filter", message: { content: null, refusal: "" } }] },
  ],
  ["anthropic", startAnthropicServer, { type: "message", content: [], stop_reason: "refusal" }],
] as const)("a refusal without a word over %s is an answer, and the model is asked once", async (kind, start, body) => {
  const server = await start(() => json(200, body));
  onTestFinished(() => server.close());
  const provider = { kind, baseUrl: server.baseUrl, local: true, models: { m: MODEL } };
  const { code, stdout } = await surety(await homeWith({ providers: { lab: provider } }), {}, "run", "hello");
  expect([code, stdout]).toEqual([0, "The model refused to answer.\n"]);
  expect(server.requests).toHaveLength(1);
});

test("a key that cannot be redacted is not used, and other providers still work", async () => {
  const server = await serverOf();
  const directory = await homeWith({ providers: { moonshot: { baseUrl: server.baseUrl, models: { k: MODEL } } } });
  const short = { MOONSHOT_API_KEY: "short" };
  const refused = await surety(directory, short, "run", "hello");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/^error invalid\.request: MOONSHOT_API_KEY is too short [^\n]*\n$/),
  ]);
  expect(await surety(directory, short, "run", "hello", "--model", "builtin:demo")).toMatchObject({ code: 0 });
  expect(server.connections).toBe(0);
});

describe("a prompt that is over budget", () => {
  const PROSE = "The quick brown fox jumps over the lazy dog. ";

  verifies(
    ["P-1.5/over-budget", "P-1.5/window", "P-6/provider-context"],
    "ends FAILED_PREFLIGHT by its model's own window, with not one byte at the server",
    async () => {
      const server = await serverOf();
      const models = { small: { ...MODEL, contextWindow: 8_192 }, large: { ...MODEL, contextWindow: 131_072 } };
      const directory = await homeWith({ providers: { moonshot: { baseUrl: server.baseUrl, models } } });
      const message = PROSE.repeat(800);
      const ask = (ref: string) =>
        surety(directory, { MOONSHOT_API_KEY: KEY }, "run", message, "--model", `moonshot:${ref}`);
      const refused = await ask("small");
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain("FAILED_PREFLIGHT (context.over-budget)");
      expect(refused.stderr).toMatch(/^OverBudgetError: /m);
      expect(server.connections).toBe(0);
      expect(await ask("large")).toMatchObject({ code: 0 });
    },
  );

  verifies(
    ["P-1.5"],
    "is told by the model's own tokenizer where there is one, and by an upper bound elsewhere",
    async () => {
      const server = await serverOf();
      const window = { ...MODEL, contextWindow: 16_384 };
      const models = { "gpt-4o": window, unheard: window };
      const directory = await homeWith({ providers: { lab: { baseUrl: server.baseUrl, models } } });
      const variables = { LAB_API_KEY: KEY };
      const ask = async (ref: string, message: string) => {
        const { code, stderr } = await surety(directory, variables, "run", message, "--model", `lab:${ref}`);
        return code === 0 ? "sent" : stderr.includes("OverBudgetError") ? "over budget" : stderr;
      };
      // Ten tokens and forty-five bytes a sentence: 9,000 tokens, and 13,500 by the bytes.
      expect(await ask("gpt-4o", PROSE.repeat(900))).toBe("sent");
      expect(await ask("unheard", PROSE.repeat(900))).toBe("over budget");
      // A token a sign, which the bytes do not tell.
      const dense = "{[(<$%&!?>)]}~".repeat(1_800);
      const sentBefore = server.requests.length;
      expect(await ask("gpt-4o", dense)).toBe("over budget");
      expect(server.requests).toHaveLength(sentBefore);
    },
  );
});

describe("the default model does not answer", () => {
  const configFor = async (startupValidation: string) => ({
    default: "gone:m",
    providers: { gone: { baseUrl: await deadUrl(), local: true, startupValidation, models: { m: MODEL } } },
  });

  verifies(["P-1.6/strict", "P-1.6/line"], "strict: the start fails with one actionable line", async () => {
    const models = await configFor("strict");
    const failed = await start(await homeWith(models)).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(NeverReady);
    const { ending, stderr } = failed as NeverReady;
    expect(ending.code).toBe(1);
    const origin = new URL(models.providers.gone.baseUrl).origin;
    expect(stderr).toEqual([
      `error model.unusable: ${origin} cannot be reached: is the server running, and baseUrl right?`,
    ]);
  });

  verifies(["P-1.6"], "strict: nor where its provider's list lacks it", async () => {
    const server = await serverOf(undefined, () => json(200, { data: [{ id: "other" }] }));
    const provider = { baseUrl: server.baseUrl, local: true, startupValidation: "strict", models: { m: MODEL } };
    const failed = await start(await homeWith({ providers: { lab: provider } })).catch((error: unknown) => error);
    const { origin } = new URL(server.baseUrl);
    expect((failed as NeverReady).stderr).toEqual([
      `error model.unusable: ${origin} does not list the model m: check its name`,
    ]);
  });

  verifies(
    ["P-1.6/warn", "P-1.6/line", "P-6/provider-warn"],
    "warn: the gateway starts, works, and says one line",
    async () => {
      const gateway = await start(await homeWith(await configFor("warn")));
      await vi.waitFor(() => expect(gateway.stderr).toHaveLength(1), { timeout: 10_000 });
      expect(gateway.stderr[0]).toMatch(/^warning model\.unusable: http:\S+ cannot be reached: /);
      expect(await gateway.ask("GET", "/v1/runs")).toMatchObject({ status: 200 });
      expect(await gateway.stop()).toEqual({ code: 0, signal: null });
      expect(gateway.stderr).toHaveLength(1);
    },
  );

  verifies("P-1.6/off", "off: the gateway starts, contacts nobody and says nothing", async () => {
    const server = await serverOf(undefined, () => json(500, {}));
    const provider = { baseUrl: server.baseUrl, local: true, startupValidation: "off", models: { m: MODEL } };
    const gateway = await start(await homeWith({ providers: { gone: provider } }));
    expect(await gateway.ask("GET", "/v1/runs")).toMatchObject({ status: 200 });
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    expect(gateway.stderr).toEqual([]);
    expect(server.connections).toBe(0);
  });

  verifies("P-1.6/strict", "strict fails only for the default model: another provider is not looked at", async () => {
    const server = await serverOf();
    const { providers } = await configFor("strict");
    const up = { baseUrl: server.baseUrl, local: true, models: { m: MODEL } };
    const gateway = await start(await homeWith({ default: "up:m", providers: { ...providers, up } }));
    await vi.waitFor(() => expect(server.checks).toHaveLength(1), { timeout: 10_000 });
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    expect(gateway.stderr).toEqual([]);
    expect(server.requests).toHaveLength(0);
  });

  verifies(["P-1.6", "P-1.3"], "strict without a key: its name, and nobody is contacted", async () => {
    const server = await serverOf();
    const provider = { baseUrl: server.baseUrl, startupValidation: "strict", models: { k: MODEL } };
    const failed = await start(await homeWith({ providers: { moonshot: provider } })).catch((error: unknown) => error);
    expect((failed as NeverReady).stderr).toEqual(["error model.unusable: Missing MOONSHOT_API_KEY"]);
    expect(server.connections).toBe(0);
  });
});

describe("a key", () => {
  const encodings = (text: string): readonly string[] => {
    const bytes = Buffer.from(text);
    const code = (letter: string): string => letter.charCodeAt(0).toString(16).padStart(2, "0");
    return [
      text,
      bytes.toString("base64").replace(/=+$/, ""),
      bytes.toString("base64url"),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      [...text].map((letter) => `%${code(letter)}`).join(""),
      [...text].map((letter) => `\\u00${code(letter)}`).join(""),
    ];
  };
  const echoes = encodings(KEY).join(" and ");

  const MISDEEDS: readonly Reply[] = [
    answer({ text: `Your key is ${echoes}` }),
    json(401, { error: { message: `Incorrect API key: ${echoes}`, code: echoes } }),
    { kind: "http", status: 502, headers: { "x-key": KEY }, body: `<h1>${echoes}</h1>` },
    { kind: "bytes", bytes: `${echoes}\r\n\r\n` },
    answer({ calls: [{ name: "fs__read_text", arguments: { path: echoes } }] }),
  ];

  for (const [provider, start] of [
    ["moonshot", startOpenAiServer],
    ["anthropic", startAnthropicServer],
  ] as const) {
    verifies("P-1.3/logged", `that ${provider} sends back is in no output and no file, in no encoding`, async () => {
      let misdeed = MISDEEDS[0];
      let isKeyRefused = false;
      const server = await start(() => misdeed ?? answer({ text: "hi" }), {
        models: () =>
          isKeyRefused ? json(401, { error: { message: echoes } }) : json(200, { data: [{ id: echoes }] }),
      });
      onTestFinished(() => server.close());
      const directory = await homeWith({
        providers: { [provider]: { baseUrl: server.baseUrl, models: { k: MODEL } } },
      });
      const variables = { [`${provider.toUpperCase()}_API_KEY`]: KEY };
      const outputs: string[] = [];
      const command = async (...words: readonly string[]): Promise<string> => {
        const { stdout, stderr } = await surety(directory, variables, ...words);
        outputs.push(stdout, stderr);
        return stdout;
      };
      await command("models", "check");
      await command("models", "ls", "--json");
      for (misdeed of MISDEEDS) {
        const { id } = JSON.parse(await command("run", "hello", "--json"));
        await command("runs", "show", id);
        await command("runs", "export", id);
      }
      expect(server.requests.length).toBeGreaterThanOrEqual(MISDEEDS.length);
      isKeyRefused = true;
      await command("models", "check", `${provider}:k`);
      await command("run", "hello");
      expect(outputs.join("")).toContain("refused the API key");
      const kept = await Promise.all((await filesBelow(directory)).map((file) => readFile(file, "latin1")));
      for (const text of [...outputs, ...kept]) {
        expect(encodings(KEY).findIndex((encoded) => text.includes(encoded))).toBe(-1);
      }
    });
  }
});

async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
