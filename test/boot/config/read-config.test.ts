import fc from "fast-check";
import JSON5 from "json5";
import { describe, expect, test } from "vitest";
import { DEFAULT_CONFIG } from "../../../src/boot/config/default-config.ts";
import { readConfig, readPolicyFile } from "../../../src/boot/config/read-config.ts";
import { verifies } from "../../requirements.ts";
import { KIMI, MOONSHOT_CONFIG, readOk } from "./example-config.ts";

const FILE = "surety.json5";
const problemsOf = (text: string) => {
  const verdict = readConfig(text, FILE);
  return verdict.ok ? [] : verdict.problems;
};
const first = (text: string) => problemsOf(text)[0];
/** `{a: {b: value}}` from `a.b`. */
const at = (path: string, value: unknown): string =>
  JSON5.stringify(path.split(".").reduceRight<unknown>((inner, step) => ({ [step]: inner }), value));

describe("a config that is read", () => {
  test("an empty one is the defaults, and the printed defaults are the defaults", () => {
    expect(readOk("{}")).toEqual(DEFAULT_CONFIG);
    expect(readOk(JSON5.stringify(DEFAULT_CONFIG, null, 2))).toEqual(DEFAULT_CONFIG);
    expect(readOk(JSON.stringify(DEFAULT_CONFIG))).toEqual(DEFAULT_CONFIG);
  });

  verifies("P-1.2/shape", "the seed's canonical shape is taken as it stands", () => {
    expect(readOk(MOONSHOT_CONFIG).models.providers["moonshot"]).toMatchObject({
      enabled: true,
      kind: "openai_compatible",
      baseUrl: "https://api.moonshot.cn/v1",
      startupValidation: "warn",
      models: {
        "kimi-k1-128k": { contextWindow: 131072, maxOutputTokens: 4096, supportsTools: true, supportsStreaming: true },
      },
      defaults: { model: "kimi-k1-128k" },
    });
  });

  test("the tools example of the design", () => {
    const { tools } = readOk(`{ tools: {
      workspace: "/srv/work",
      policy: {
        sideEffects: "enabled",                                // kill switch: "disabled"
        allow: ["fs.*", "shell.exec", "http.get"],             // by tool; anything else is denied
        channels: { cli_local: ["*"], external_email: ["fs.read_text"] },  // by channel class
        risk: { read_only: "allow", draft_only: "allow", side_effect: "approve" },
        exceptions: [{ tool: "fs.write_text", channel: "cli_local", decision: "allow" }],
        honeypot: { templates: [], recipientTypes: [], perHour: 0 },
      },
      shell: { allow: ["ls", "cat", "git"] },
      http: { allowAddresses: [], ttlS: 3600 },
    } }`);
    expect(tools.policy.channels).toEqual({ cli_local: ["*"], external_email: ["fs.read_text"] });
    expect(tools.policy.exceptions).toEqual([{ tool: "fs.write_text", channel: "cli_local", decision: "allow" }]);
    expect(tools.shell.allow).toEqual(["ls", "cat", "git"]);
    expect(tools.http.allowDomains).toBeUndefined();
  });

  test.each([
    ["gateway", { host: "::1", port: 0, allowedOrigins: ["https://a.example"], queue: { max: 1 } }],
    ["budgets", { perRunUsd: 0.5, perDayUsd: 1, perAgentDayUsd: 1, perJobDayUsd: 1, perRunTokens: 9, perDayTokens: 9 }],
    ["agents.main", { prompt: "Be brief.", model: "builtin:demo", thinkingLevel: "off" }],
    ["agents.main", { maxTurns: 1000, context: { messageChars: 100, toolResultTokens: 0, recentTokens: 100_000 } }],
    ["redaction", { emails: true, phones: true }],
    ["output", { thinking_mode: "always" }],
    ["tools.http", { allowDomains: [], allowAddresses: ["127.0.0.1:8080", "[::1]:80", "Intra_Net.local:65535"] }],
    ["tools.http.allowDomains", ["a.example", "xn--bcher-kva.example", "127.0.0.1"]],
    ["tools.search.url", "http://127.0.0.1:8888/searx"],
    ["models.providers.lab", { baseUrl: "http://10.0.0.5:8080/v1", apiKeyEnv: "LAB_KEY", local: true }],
    ["models.providers.p", { baseUrl: "http://127.0.0.1:8080/v1" }],
    ["models.providers.p", { baseUrl: "http://[::1]:8080/v1" }],
    ["models.providers.p", { baseUrl: "http://localhost:8080/v1" }],
    ["models.providers.gguf", { kind: "llama_cpp", models: { m: { ...KIMI, modelPath: "/m.gguf" } } }],
    ["models.providers.gguf", { kind: "llama_cpp", modelPath: "/m.gguf", models: { m: KIMI } }],
    [
      "models.providers.claude",
      {
        kind: "anthropic",
        models: { m: { ...KIMI, tier: "premium", profile: "native-tools", thinkingLevel: "high" } },
      },
    ],
    [
      "models.providers.p",
      { baseUrl: "https://p.example", models: { m: { ...KIMI, costPer1kInput: 0.01, costPer1kOutput: 0.03 } } },
    ],
    ["models.providers.p", { baseUrl: "https://p.example", models: { "ft:gpt-4o-mini-2024-07-18:org::AbCd12": KIMI } }],
    ["models.providers.builtin", { kind: "builtin", enabled: false }],
    ["models.default", "builtin:demo"],
  ])("%s: %j", (path, value) => {
    expect(problemsOf(at(path, value))).toEqual([]);
  });

  test("what a file leaves out has its default, at every level", () => {
    expect(readOk("{gateway: {queue: {max: 5}}}").gateway).toEqual({
      ...DEFAULT_CONFIG.gateway,
      queue: { ...DEFAULT_CONFIG.gateway.queue, max: 5 },
    });
  });

  test("any JSON value is taken or refused, without an exception", () => {
    fc.assert(
      fc.property(fc.object({ key: fc.constantFrom(...Object.keys(DEFAULT_CONFIG), "x") }), (value) => {
        expect(typeof readConfig(JSON5.stringify(value), FILE).ok).toBe("boolean");
      }),
    );
  });

  test("any text is taken or refused, without an exception", () => {
    const pieces = fc.constantFrom(..."{}[]:,'\"\\/*\n ab1", "//", "/*", "\u2028", "\ud800", "__proto__", "gateway");
    fc.assert(
      fc.property(fc.array(pieces), (words) => {
        expect(typeof readConfig(words.join(""), FILE).ok).toBe("boolean");
      }),
    );
  });
});

describe("a key nobody knows", () => {
  const SECTIONS = Object.keys(DEFAULT_CONFIG).filter(
    (section) => !["agents", "channels", "identities"].includes(section),
  );
  const DEEPER = [
    "models.providers.moonshot",
    "models.providers.moonshot.defaults",
    "gateway.queue",
    "gateway.rateLimit",
    "agents.main",
    "agents.main.context",
    "tools.policy",
    "tools.policy.risk",
    "tools.policy.channels",
    "tools.policy.honeypot",
    "tools.shell",
    "tools.http",
  ];

  verifies("P-1.2/unknown", "is refused at every level, with its path", () => {
    expect(first("{bogus: 1}")).toMatchObject({ code: "config.unknown-key", path: "bogus", line: 1 });
    for (const path of [...SECTIONS, ...DEEPER]) {
      const problem = problemsOf(at(`${path}.bogus`, 1)).find(({ code }) => code === "config.unknown-key");
      expect(problem, path).toMatchObject({ path: `${path}.bogus` });
    }
    const model = `{models: {providers: {moonshot: {models: {k: {...0}}}}}}`.replace("...0", "bogus: 1");
    expect(problemsOf(model).map(({ path }) => path)).toContain("models.providers.moonshot.models.k.bogus");
    expect(first("{tools: {policy: {exceptions: [{tool: '*', decision: 'deny', bogus: 1}]}}}")?.path).toBe(
      "tools.policy.exceptions.0.bogus",
    );
    expect(first("{identities: [{id: 'a', links: ['cli:a'], bogus: 1}]}")?.path).toBe("identities.0.bogus");
  });

  test("comes with the known ones, the line and a guess", () => {
    expect(first("{\n  // the door\n  gateway: {\n    prot: 1,\n  },\n}")).toEqual({
      code: "config.unknown-key",
      path: "gateway.prot",
      what: "is not a known key",
      line: 4,
      message: "surety.json5:4: gateway.prot is not a known key",
      hint: "Did you mean port? Known keys: host, port, allowedHosts, allowedOrigins, tls, proxy, queue, rateLimit.",
    });
  });

  test("of something that this version has not is refused with a sentence", () => {
    for (const key of ["mcp", "skills"]) {
      expect(first(`{${key}: {}}`)).toMatchObject({
        code: "config.unknown-key",
        path: key,
        message: `surety.json5:1: ${key} is not a key of this version`,
        hint: `Remove it: this version has nothing that ${key} would configure.`,
      });
    }
  });

  test.each([
    "{__proto__: {gateway: {}}}",
    '{"__proto__": 1}',
    "{'__pr\\u006fto__': 1}",
    "{models: {providers: {__proto__: {baseUrl: 'https://x'}}}}",
    "{agents: {constructor: {}}}",
    "{tools: {policy: {channels: {__proto__: ['*']}}}}",
    "{gateway: {__proto__: {port: 1}}}",
    "{agents: {prototype: {prompt: 'x'}}}",
  ])("%s", (text) => {
    expect(first(text)?.code).toBe("config.unknown-key");
    expect(({} as Record<string, unknown>)["port"]).toBeUndefined();
  });
});

describe("a value nobody can mean", () => {
  test.each([
    ["gateway.port", 65536],
    ["gateway.port", -1],
    ["gateway.port", 1.5],
    ["gateway.port", "8080"],
    ["gateway.port", null],
    ["gateway.port", Number.NaN],
    ["gateway.port", Number.POSITIVE_INFINITY],
    ["gateway.queue.max", 0],
    ["gateway.queue.max", 1e300],
    ["gateway.queue.workers", 100_000],
    ["gateway.rateLimit.perMinute", 0],
    ["gateway.allowedOrigins", ["*"]],
    ["gateway.allowedOrigins", ["https://a.example/"]],
    ["gateway.allowedOrigins", ["file:///etc"]],
    ["gateway.host", ""],
    ["gateway.host", "a b"],
    ["approvals.timeoutS", 0],
    ["approvals.timeoutS", 2 ** 53],
    ["sessions.idleMs", 1e15],
    ["budgets.perRunUsd", -0.01],
    ["budgets.perDayTokens", 0.5],
    ["tools.http.ttlS", -1],
    ["tools.http.allowDomains", ["https://a.example"]],
    ["tools.http.allowDomains", ["a..example"]],
    ["tools.http.allowDomains", ["a.example."]],
    ["tools.http.allowDomains", ["0177.0.0.1"]],
    ["tools.http.allowAddresses", ["localhost"]],
    ["tools.http.allowAddresses", ["localhost:0"]],
    ["tools.http.allowAddresses", ["localhost:65536"]],
    ["tools.http.allowAddresses", ["a..b:80"]],
    ["tools.http.allowAddresses", ["-a:80"]],
    ["tools.http.allowAddresses", ["999.1.1.1:80"]],
    ["tools.http.allowAddresses", ["[::1:80"]],
    ["tools.http.allowAddresses", ["[1:2:3]:80"]],
    ["tools.http.allowAddresses", ["http://localhost:80"]],
    ["tools.http.allowAddresses", ["localhost:80/path"]],
    ["tools.http.allowAddresses", ["me@localhost:80"]],
    ["tools.search.url", "search.example"],
    ["tools.search.url", "ftp://search.example"],
    ["tools.search.url", "https://search.example/?q="],
    ["tools.search.url", "https://a..b/"],
    ["tools.shell.allow", ["rm -rf"]],
    ["tools.policy.allow", ["fs*"]],
    ["tools.policy.allow", [".*", "*.*"]],
    ["tools.policy.risk.read_only", "maybe"],
    ["tools.policy.honeypot.perHour", 1e9],
    ["output.thinking_mode", "sometimes"],
    ["models.default", "kimi"],
    ["models.default", ":x"],
    ["models.default", "nowhere:x"],
    ["models.default", 7],
    ["agents.main.model", "builtin:other"],
    ["agents.main.model", { provider: "builtin", model: "other" }],
    ["models.default", { provider: "nobody", model: "m" }],
    ["agents.main.thinkingLevel", "loud"],
    ["agents.main.maxTurns", 0],
    ["agents.main.context.recentTokens", 99],
    ["agents.main.context.historyChars", 1e9],
    ["agents.main.context.messageChars", "many"],
    ["models.providers.p.models.m", { ...KIMI, thinkingLevel: true }],
    ["agents.a/b", {}],
    ["models.providers.a:b", { baseUrl: "https://x" }],
    ["models.providers.A", { baseUrl: "https://x" }],
    ["models.providers.p.baseUrl", "ftp://x"],
    ["models.providers.p.baseUrl", "http://x?a=b"],
    ["models.providers.p.baseUrl", "not a url"],
    ["models.providers.p.apiKeyEnv", "lower case"],
    ["models", []],
    ["gateway", "x"],
    ["models.providers.p", { baseUrl: "https://x", models: { m: { maxOutputTokens: 1 } } }],
    ["models.providers.p", { baseUrl: "https://x", models: { m: { ...KIMI, contextWindow: 1e12 } } }],
  ])("%s: %j", (path, value) => {
    const [problem] = problemsOf(at(path, value));
    expect(problem).toMatchObject({ code: "config.invalid", line: 1 });
    expect(problem?.path.startsWith(path)).toBe(true);
    expect(problem?.message.split("\n")).toHaveLength(1);
  });

  test.each([
    ["models.providers.p.baseUrl", {}],
    ["models.providers.p.baseUrl", { baseUrl: "http://api.example.org/v1" }],
    ["models.providers.p.baseUrl", { baseUrl: "http://192.168.0.7:8080/v1" }],
    ["models.providers.p.baseUrl", { baseUrl: "http://127.0.0.1.example.org/v1" }],
    ["models.providers.p.baseUrl", { baseUrl: "http://localhost.example.org/v1" }],
    ["models.providers.p.baseUrl", { baseUrl: "http://[2001:db8::1]/v1" }],
    ["models.providers.p.kind", { baseUrl: "https://x", kind: "builtin" }],
    ["models.providers.moonshot.apiKeyEnv", { apiKeyEnv: "OTHER_KEY" }],
    ["models.providers.moonshot.kind", { kind: "anthropic" }],
    ["models.providers.p.defaults.model", { baseUrl: "https://x", defaults: { model: "m" } }],
    [
      "models.providers.p.models.m.maxOutputTokens",
      { baseUrl: "https://x", models: { m: { contextWindow: 1000, maxOutputTokens: 1000 } } },
    ],
    ["models.providers.p.models.m", { baseUrl: "https://x", models: { m: { ...KIMI, costPer1kInput: 1 } } }],
    [
      "models.providers.p.models.m.free",
      { baseUrl: "https://x", models: { m: { ...KIMI, free: true, costPer1kInput: 1, costPer1kOutput: 0 } } },
    ],
    ["models.providers.p.models.m.modelPath", { kind: "llama_cpp", models: { m: KIMI } }],
  ])("what does not fit together: %s", (path, provider) => {
    const id = path.split(".")[2] ?? "";
    expect(first(at(`models.providers.${id}`, provider))).toMatchObject({ code: "config.invalid", path });
  });

  test("a usual time above the most that a call gets is refused", () => {
    expect(first("{tools: {timeoutMs: 600001}}")?.message).toBe(
      "surety.json5:1: tools.timeoutMs must be at most tools.maxTimeoutMs (600000)",
    );
    expect(first("{tools: {timeoutMs: 1000, maxTimeoutMs: 500}}")?.message).toContain("tools.maxTimeoutMs (500)");
  });

  test("a list or an object where the other belongs is said in words", () => {
    expect(first("{gateway: []}")?.message).toBe("surety.json5:1: gateway must be an object, not a list");
    expect(first("[]")?.message).toBe("surety.json5:1: the config must be an object, not a list");
    expect(first("{models: {default: 'kimi'}}")?.message).toBe(
      'surety.json5:1: models.default must have the form "provider:model"',
    );
    expect(first("{models: {default: {provider: 'p'}}}")?.message).toBe(
      "surety.json5:1: models.default.model is missing",
    );
    expect(first("{models: {default: {providr: 'p', model: 'm'}}}")).toMatchObject({
      path: "models.default.provider",
    });
    expect(first("{budgets: {perDayUsd: 1e400}}")?.message).toContain("perDayUsd is not a finite number");
  });

  test.each(["1e400", "1e18", "65536", "-1", "1.5", '"80"', "null"])(
    "a port of %s is refused with the bounds",
    (port) => {
      expect(first(`{gateway: {port: ${port}}}`)?.message).toBe(
        "surety.json5:1: gateway.port must be a whole number from 0 to 65535",
      );
    },
  );

  test("a key given twice is refused, however it is written", () => {
    expect(first("{gateway: {port: 1,\n 'p\\u006frt': 2}}")).toMatchObject({ path: "gateway.port", line: 2 });
    expect(first("{gateway: {}, gateway: {}}")?.message).toContain("gateway is given twice");
  });

  test("half a character, and nesting without end", () => {
    expect(first("{agents: {main: {prompt: '\\ud800'}}}")).toMatchObject({ path: "agents.main.prompt" });
    expect(first(`{a: ${"[".repeat(100_000)}${"]".repeat(100_000)}}`)?.message).toContain("nested too deeply");
    expect(first(`{agents: {main: {prompt: "${"x".repeat(1_100_000)}"}}}`)).toMatchObject({ code: "config.syntax" });
  });
});

describe("a text that is no JSON5", () => {
  test.each([
    ["", 1],
    ["// nothing\n", 2],
    ["{", 1],
    ["{\n  gateway: {port: 1\n  tools: {}\n}", 3],
    ["{a: 1}}", 1],
    ["{\n\n a: 'x\n'}", 3],
    ["\0", 1],
  ])("%j has its problem in line %d", (text, line) => {
    expect(problemsOf(text)).toEqual([expect.objectContaining({ code: "config.syntax", line })]);
  });
});

describe("secrets", () => {
  // Put together here, so that no scanner of repositories takes them for real ones.
  const SECRETS = [
    ["sk", "ant", "api03-aB3dE5fG7hI9jK1lM3nO5pQ7"].join("-"),
    ["sk", "proj-aB3dE5fG7hI9jK1lM3nO5pQ7"].join("-"),
    ["ghp", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].join("_"),
    ["xoxb", "123456789012-aB3dE5fG7hI9"].join("-"),
    ["AKIA", "IOSFODNN7EXAMPLE"].join(""),
    ["AIza", "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"].join(""),
    "123456789:AAaBbCcDdEeFfGgHhIiJjKkLlMmNnOoPpQq",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "9f86d081884c7d659a2feaa0c55ad015",
    "Zx8Kq2LmN4pRt6Vw9Yb1Cd3Ef5Gh7Jk0Ln2Pq4Rs6Tu",
    "b3Bl-bnNz_aC1r-ZXkt_djEA-AAAB_G5v-bmUA_AAEb",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
  ];
  const PLACES = [
    (secret: string) => at("models.providers.p.apiKey", secret),
    (secret: string) => at("models.providers.moonshot.apiKeyEnv", secret),
    (secret: string) => at("agents.main.prompt", secret),
    (secret: string) => at("agents.main.prompt", `Use ${secret} for that.`),
    (secret: string) => at("gateway.host", secret),
    (secret: string) => at("tools.shell.allow", ["ls", secret]),
    (secret: string) => at("bogus.deep.down", [{ x: secret }]),
    (secret: string) => JSON5.stringify({ agents: { [secret]: {} } }),
    (secret: string) => JSON5.stringify({ models: { providers: { p: { models: { [secret]: KIMI } } } } }),
    (secret: string) => JSON5.stringify({ [secret]: 1 }),
  ];

  verifies("P-1.2/secrets", "are refused wherever they stand, and never shown", () => {
    for (const secret of SECRETS) {
      for (const [index, place] of PLACES.entries()) {
        // In prose only what has a shape of its own is known.
        if (index === 3 && /^(?:9f86|Zx8K|b3Bl)/.test(secret)) continue;
        const problems = problemsOf(place(secret));
        expect(problems[0]?.code, `${secret} at place ${index}`).toBe("config.secret");
        expect(JSON.stringify(problems)).not.toContain(JSON.stringify(secret).slice(1, -1));
      }
    }
  });

  test.each([
    [{ gateway: { token: "hunter2" } }, "gateway.token"],
    [{ models: { providers: { p: { api_key: "x" } } } }, "models.providers.p.api_key"],
    [{ models: { providers: { p: { apiKey: "x" } } } }, "models.providers.p.apiKey"],
    [{ channels: { telegram: { botToken: "x" } } }, "channels.telegram.botToken"],
    [{ channels: { mail: { password: "x" } } }, "channels.mail.password"],
    [{ mcp: { clientSecret: "x" } }, "mcp.clientSecret"],
    [{ models: { providers: { p: { baseUrl: "https://me:hunter2@p.example/v1" } } } }, "models.providers.p.baseUrl"],
    [{ agents: { main: { prompt: "The password: Tr0ub4dor-and-3-horses" } } }, "agents.main.prompt"],
  ])("%j: the name gives it away", (config, path) => {
    expect(first(JSON5.stringify(config))).toMatchObject({
      code: "config.secret",
      path,
      hint: expect.stringContaining(".env"),
    });
  });

  test("they come first, whatever else is wrong", () => {
    const problems = problemsOf(`{bogus: 1, gateway: {port: -1}, agents: {main: {prompt: "${SECRETS[0]}"}}}`);
    expect(problems.map(({ code }) => code)).toEqual(["config.secret", "config.invalid", "config.unknown-key"]);
  });

  test.each([
    "moonshot-v1-128k-vision-preview-2025",
    "Meta-Llama-3-1-405B-Instruct-Turbo",
    "Qwen2.5-VL-72B-Instruct-AWQ-GGUF-Q4_K_M",
    "accounts-fireworks-models-deepseek-v3-0324",
    "claude-opus-4-20250514",
    "text-embedding-3-large-2024-01-25",
  ])("the model name %s is none", (name) => {
    expect(
      problemsOf(
        JSON5.stringify({
          models: { providers: { p: { baseUrl: "https://x", models: { [name]: KIMI }, defaults: { model: name } } } },
        }),
      ),
    ).toEqual([]);
  });

  test.each(["/home/me/models/blobs/sha256-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "./w"])(
    "the path %s is none",
    (workspace) => {
      expect(problemsOf(at("tools.workspace", workspace))).toEqual([]);
    },
  );
});

describe("a file that holds tools.policy alone", () => {
  test("is read with the same defaults and the same strictness", () => {
    expect(readPolicyFile("{allow: ['fs.*']}", "policy.json5")).toEqual({
      ok: true,
      value: { ...DEFAULT_CONFIG.tools.policy, allow: ["fs.*"] },
    });
    expect(readPolicyFile("{alow: []}", "policy.json5")).toMatchObject({
      ok: false,
      problems: [{ message: "policy.json5:1: alow is not a known key", hint: expect.stringContaining("allow?") }],
    });
  });
});

test("a person is named once, and a link is one person's", () => {
  const person = (id: string, ...links: readonly string[]) => ({ id, links });
  const identities = [person("ann", "cli:a", "telegram:1"), person("ben", "cli:b"), person("ann", "telegram:1")];
  expect(problemsOf(JSON.stringify({ identities })).map(({ path, what }) => [path, what])).toEqual([
    ["identities.2.id", "is given twice"],
    ["identities.2.links.0", "is given in identities.0 already"],
  ]);
});
