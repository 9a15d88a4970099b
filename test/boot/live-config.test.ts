/** The configuration over HTTP while the gateway runs (T-1.2, O-6.2). */
import { writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { verifies } from "../requirements.ts";
import { openLiveGateway } from "./live-gateway.ts";

const WITH_COMMENTS = `{
  // how many may wait
  gateway: { queue: { max: 20 } },
  tools: { shell: { allow: ["ls"] } }, // few
}
`;

verifies("T-1.2/config", "a merge patch changes the file and what applies, and leaves its comments", async () => {
  const { ask, patch, file } = await openLiveGateway({ config: WITH_COMMENTS });
  const before = await ask("GET", "/api/config");
  expect(before.status).toBe(200);
  expect(before.json.gateway.queue).toEqual({ max: 20, workers: 64 });
  const answer = await patch({
    gateway: { queue: { max: 30 }, port: 8080 },
    agents: { main: { prompt: "Be brief." } },
  });
  expect(answer.json).toEqual({
    problems: [],
    changes: [
      { path: "gateway.port", before: 19789, after: 8080 },
      { path: "gateway.queue.max", before: 20, after: 30 },
      { path: "agents.main", before: null, after: { prompt: "Be brief." } },
    ],
    applied: ["gateway.queue.max", "agents.main"],
    restart_required: ["gateway.port"],
    missing: [],
  });
  expect(await file()).toContain("// how many may wait\n  gateway: { queue: { max: 30 }, port: 8080 },");
  const after = await ask("GET", "/api/config");
  expect(after.etag).toBe(answer.etag);
  expect(after.etag).not.toBe(before.etag);
  expect(after.json.gateway).toMatchObject({ port: 8080, queue: { max: 30 } });
  // Null removes: the default applies.
  await patch({ gateway: { queue: null } });
  expect(await file()).not.toContain("max");
  expect((await ask("GET", "/api/config")).json.gateway.queue.max).toBe(1000);
});

verifies("O-6.2", "POST takes back what GET gave: unchanged it changes nothing, changed it changes that", async () => {
  const { ask, file } = await openLiveGateway({ config: WITH_COMMENTS });
  const { json: document, etag } = await ask("GET", "/api/admin/config");
  const same = await ask("POST", "/api/admin/config", document);
  expect([same.status, same.json.changes]).toEqual([200, []]);
  expect(await file()).toBe(WITH_COMMENTS);
  document.tools.policy.channels.external_message = ["fs.read_text"];
  const changed = await ask("POST", "/api/admin/config", document, { "if-match": etag });
  expect(changed.json.applied).toEqual(["tools.policy.channels.external_message"]);
  const now = (await ask("GET", "/api/config")).json;
  // The list that was a default and is not written alone.
  expect(now.tools.policy.channels).toEqual(document.tools.policy.channels);
  expect(await file()).toContain("// few");
});

verifies("T-1.2", "a check changes nothing, and says all that is wrong with its path", async () => {
  const { patch, file } = await openLiveGateway({ config: WITH_COMMENTS });
  const wrong = { gateway: { queue: { max: 0 }, prot: 1 }, budgets: { perDayUsd: -1 } };
  const checked = await patch(wrong, {}, "?check=1");
  expect(checked.status).toBe(200);
  expect(checked.json.changes).toEqual([]);
  expect(checked.json.problems.map(({ path }: { path: string }) => path).toSorted()).toEqual([
    "budgets.perDayUsd",
    "gateway.prot",
    "gateway.queue.max",
  ]);
  const refused = await patch(wrong);
  expect(refused.status).toBe(400);
  expect(refused.json.error).toMatchObject({ code: "invalid.request", problems: checked.json.problems });
  expect(await file()).toBe(WITH_COMMENTS);
  const right = await patch({ gateway: { queue: { max: 5 } } }, {}, "?check=1");
  expect(right.json.applied).toEqual(["gateway.queue.max"]);
  expect(await file()).toBe(WITH_COMMENTS);
});

verifies("T-1.2", "of two changes that name the same ETag one is made, and the other refused", async () => {
  const { ask, patch, home } = await openLiveGateway({ config: WITH_COMMENTS });
  const { etag } = await ask("GET", "/api/config");
  const headers = { "if-match": etag };
  const answers = await Promise.all([
    patch({ gateway: { queue: { max: 31 } } }, headers),
    patch({ gateway: { queue: { max: 32 } } }, headers),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  // Also beside an edit by hand.
  const read = await ask("GET", "/api/config");
  await writeFile(home.configFile, "{}");
  const late = await patch({ gateway: { queue: { max: 33 } } }, { "if-match": read.etag });
  expect([late.status, late.json.error.code]).toEqual([409, "conflict"]);
});

const CANARY = "sk-test-CANARY0123456789abcdef0123456789abcdef";
const within = (provider: object) => ({ models: { providers: { moonshot: provider } } });

verifies("P-1.2", "what injects into the config is refused whole, by path, and no secret is repeated", async () => {
  const { ask, askText, patch, file, defects } = await openLiveGateway({ config: WITH_COMMENTS });
  const cases: readonly (readonly [unknown, string])[] = [
    [within({ apiKey: CANARY }), "models.providers.moonshot.apiKey"],
    [within({ apiKeyEnv: CANARY }), "models.providers.moonshot.apiKeyEnv"],
    [within({ baseUrl: "http://api.moonshot.cn/v1" }), "models.providers.moonshot.baseUrl"],
    [{ agents: { main: { prompt: CANARY } } }, "agents.main.prompt"],
    [{ agents: { main: { cliPath: "/bin/sh -c id" } } }, "agents.main.cliPath"],
    [{ gateway: { bind: "0.0.0.0" }, auth: null }, "gateway.bind"],
    [{ shadow: { enabled: true, model: "x" } }, "shadow.model"],
    [{ tools: { timeoutMs: "1e999" } }, "tools.timeoutMs"],
    [{ agents: { constructor: { prompt: "x" } } }, "agents.constructor"],
    [
      {
        identities: [
          { id: "a", links: ["cli:a"] },
          { id: "a", links: ["cli:b"] },
        ],
      },
      "identities.1.id",
    ],
  ];
  for (const [patched, path] of cases) {
    const { status, text, json } = await patch(patched);
    expect([status, json.error.code, json.error.problems?.[0]?.path]).toEqual([400, "invalid.request", path]);
    expect(text).not.toContain("CANARY");
  }
  const texts = [
    '{"__proto__": {"gateway": {"port": 1}}}',
    '{"gateway": {"__proto__": {"port": 1}}}',
    '{"tools": {"timeoutMs": 1e999}}',
    "a: &a [x,x]\nb: &b [*a,*a]",
    "{gateway: {port: 1}}",
    "[]",
    '"x"',
    `${'{"gateway":'.repeat(5000)}{}${"}".repeat(5000)}`,
    `{"agents": {"main": {"prompt": "${"x".repeat(2_000_000)}"}}}`,
  ];
  for (const text of texts) {
    const { status } = await askText("PATCH", "/api/config", text);
    expect([400, 413]).toContain(status);
  }
  const { status } = await askText("POST", "/api/admin/config", '{"__proto__": {}}');
  expect(status).toBe(400);
  expect(await file()).toBe(WITH_COMMENTS);
  expect((await ask("GET", "/api/config")).json.gateway.port).toBe(19789);
  expect(defects).toEqual([]);
});

verifies(
  "O-6.2",
  "a value that holds a loaded secret is blank, and a blank that comes back leaves it as it is",
  async () => {
    const secret = "Zk8vQ2mWx7TnR4bLc9Ys";
    const prompt = `Say $\{MOONSHOT_API_KEY} and ${secret.slice(0, 10)}.`;
    // The environment learns the value after the config was written: nothing in the file looked like a secret then.
    const { ask, file, home, said } = await openLiveGateway({
      config: JSON.stringify({ agents: { main: { prompt }, scout: { prompt: "" } } }),
    });
    expect((await ask("GET", "/api/config")).json.agents.main.prompt).toBe(prompt);
    await writeFile(home.envFile, `PART_KEY=${secret.slice(0, 10)}\nMOONSHOT_API_KEY=${secret}\n`);
    await said(/\.env has changed/);
    const { json: document, text } = await ask("GET", "/api/config");
    expect(text).not.toContain(secret.slice(0, 10));
    expect(document.agents).toMatchObject({ main: { prompt: "" }, scout: { prompt: "" } });
    document.gateway.queue.max = 3;
    const answer = await ask("POST", "/api/admin/config", document);
    expect(answer.json.applied).toEqual(["gateway.queue.max"]);
    expect(answer.text).not.toContain(secret.slice(0, 10));
    expect(JSON.parse(JSON.stringify(await file()))).toContain(secret.slice(0, 10));
    expect(await file()).not.toContain(secret);
  },
);
