/** Changed settings apply to what begins from then on, without a restart, and not to what runs (M-B). */
import { writeFile } from "node:fs/promises";
import { expect, onTestFinished, vi } from "vitest";
import { openSqliteReader } from "../../src/adapters/store-sqlite/open-sqlite-reader.ts";
import { answer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openLiveGateway } from "./live-gateway.ts";
import { dial } from "./socket-stage.ts";
import { SECRET, signature } from "./webhook-stage.ts";

const WAIT = { timeout: 30_000, interval: 10 };
const MODEL = { contextWindow: 32_768, maxOutputTokens: 1024 };

async function serve(script: ServerScript) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  return server;
}

const loop = (baseUrl: string, more: object = {}) => ({
  models: { default: "loop:m", providers: { loop: { baseUrl, local: true, models: { m: MODEL } } } },
  ...more,
});

verifies(
  "T-1.2",
  "from the demo to a real model: the answer names the line that .env lacks, and adding it is enough",
  async () => {
    const server = await serve(() => answer({ text: "A real answer." }));
    const { ask, patch, home, submit, ended, said } = await openLiveGateway();
    expect((await ended(await submit("hello"))).model).toBe("demo");
    const provider = { baseUrl: server.baseUrl, models: { m: MODEL } };
    const added = await patch({ models: { providers: { acme: provider } } });
    expect(added.json).toMatchObject({
      applied: ["models.providers.acme"],
      restart_required: [],
      missing: [
        { path: "models.providers.acme", variable: "ACME_API_KEY", line: "ACME_API_KEY=…", file: home.envFile },
      ],
    });
    // Never the demo model in its place (P-0).
    const refused = await ask("POST", "/v1/runs", { agent_id: "main", message: "hello" });
    expect(refused.json.error.message).toBe(`No key for provider acme: put ACME_API_KEY=… in ${home.envFile}`);
    const key = "sk-live-7Hq2ZbX9vTnK4mWcR8pL";
    await writeFile(home.envFile, `ACME_API_KEY=${key}\n`);
    await said(/\.env has changed/);
    const checked = await ask("POST", "/api/models/check", {});
    expect(checked.json.model).toBe("acme:m");
    const record = await ended(await submit(`hello ${key}`));
    expect([record.model, record.outcome]).toEqual(["m", "COMPLETED_CHAT_ONLY"]);
    expect(server.requests.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    // The new secret is redacted at once, and shown nowhere.
    expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain(key);
    for (const path of ["/api/config", "/api/models", "/api/admin/status"]) {
      expect((await ask("GET", path)).text).not.toContain(key);
    }
  },
);

verifies(
  ["T-1.2/reload", "T-1.2/tools"],
  "agents, limits, policy, commands and origins apply to the next run and request",
  async () => {
    const server = await serve(() => answer({ text: "Done." }));
    const config = JSON.stringify(loop(server.baseUrl));
    const { ask, patch, submit, ended, url } = await openLiveGateway({ config });
    await ended(await submit("one"));
    expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain("Be a pirate.");
    await patch({
      agents: { main: { prompt: "Be a pirate." }, scout: {} },
      tools: {
        shell: { allow: ["ls"] },
        policy: { allow: ["fs.read_text"] },
        search: { url: "https://search.example" },
      },
      gateway: { allowedOrigins: ["https://ui.example"], queue: { max: 7 } },
      budgets: { perRunTokens: 100_000 },
    });
    await ended(await submit("two"));
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("Be a pirate.");
    await ended(await submit("three", { agent_id: "scout" }));
    const tools = (await ask("GET", "/api/tools")).json.tools.map(({ name }: { name: string }) => name);
    expect(tools).toContain("web.search");
    const policy = (await ask("GET", "/api/policy")).json;
    expect([policy.commands, policy.policy.allow]).toEqual([["ls"], ["fs.read_text"]]);
    const call = { tool: "shell.exec", args: { cmd: "cat a.txt" } };
    expect((await ask("POST", "/api/policy/explain", call)).json.decision).toBe("deny");
    expect((await ask("GET", "/api/admin/status")).json.queue.max).toBe(7);
    expect((await ask("GET", "/api/budget")).json.per_run.limit_tokens).toBe(100_000);
    const health = (origin: string) => fetch(`${url}/healthz`, { headers: { origin } });
    expect((await health("https://ui.example")).status).toBe(200);
    expect((await health("https://other.example")).status).toBe(403);
  },
);

verifies("M-B", "a weaker policy does not reach a run that is at work; a stricter one does", async () => {
  const asked = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  const call = { name: "fs.write_text", arguments: { path: "a.txt", text: "x" } };
  const server = await serve(({ body }) => {
    asked.resolve();
    if (body.messages.at(-1)?.role === "tool") return answer({ text: "Done." });
    return answer({ calls: [call], after: changed.promise });
  });
  const config = JSON.stringify(loop(server.baseUrl, { tools: { policy: { risk: { side_effect: "deny" } } } }));
  const { ask, patch, submit, ended } = await openLiveGateway({ config });
  const id = await submit("write it");
  await asked.promise;
  const contract = (await ask("GET", `/v1/runs/${id}`)).json.contract_hash;
  await patch({ tools: { policy: { risk: { side_effect: "allow" } } } });
  changed.resolve();
  const record = await ended(id);
  expect(record.contract_hash).toBe(contract);
  expect(JSON.stringify(record.trace)).toContain("policy.denied");
  // One that begins now may.
  const next = await ended(await submit("write it again"));
  expect([next.outcome, next.contract_hash === contract]).toEqual(["COMPLETED_WITH_TOOLS", false]);
});

verifies("M-B", "a run at work keeps the commands it began with", async () => {
  const asked = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  const call = { name: "shell.exec", arguments: { cmd: "frobnicate" } };
  const server = await serve(({ body }) => {
    asked.resolve();
    if (body.messages.at(-1)?.role === "tool") return answer({ text: "Done." });
    return answer({ calls: [call], after: changed.promise });
  });
  const { patch, submit, ended } = await openLiveGateway({ config: JSON.stringify(loop(server.baseUrl)) });
  const id = await submit("frobnicate", { unattended: true });
  await asked.promise;
  await patch({ tools: { shell: { allow: ["frobnicate"] } } });
  changed.resolve();
  expect(JSON.stringify((await ended(id)).trace)).toContain("is not in tools.shell.allow");
  // One that begins now has it, and would ask.
  const next = JSON.stringify((await ended(await submit("again", { unattended: true }))).trace);
  expect(next).not.toContain("is not in tools.shell.allow");
});

verifies(
  "T-1.2",
  "a channel that is added takes messages, and one without its secret is refused with the line to add",
  async () => {
    const { patch, home, url, said, ask } = await openLiveGateway();
    const channels = { desk: { kind: "webhook", secretEnv: "DESK_SECRET", url: "http://127.0.0.1:9/in" } };
    const lacking = await patch({ channels });
    expect([lacking.status, lacking.json.error.message]).toEqual([
      400,
      expect.stringContaining(`Put DESK_SECRET=whsec_… in ${home.envFile}`),
    ]);
    await writeFile(home.envFile, `DESK_SECRET=${SECRET}\n`);
    await said(/\.env has changed/);
    expect((await patch({ channels })).json.applied).toEqual(["channels.desk"]);
    const body = JSON.stringify({ senderId: "ann", senderName: "Ann", text: "hello" });
    const at = String(Math.floor(Date.now() / 1000));
    const knock = (id: string, signed: string) =>
      fetch(`${url}/hooks/desk`, {
        method: "POST",
        headers: { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signed },
        body,
      });
    expect((await knock("m1", "v1,AAAA")).status).toBe(403);
    expect((await knock("m2", signature("m2", at, body))).status).toBe(200);
    expect((await ask("GET", "/api/pairings")).text).toContain('"ann"');
    await patch({ channels: null });
    expect((await knock("m3", signature("m3", at, body))).status).toBe(403);
  },
);

verifies(
  "P-3.2",
  "while the file cannot be used, its settings stay, and clients hear why and change nothing",
  async () => {
    const { ask, patch, home, said, file } = await openLiveGateway();
    await writeFile(home.configFile, '{ tools: { policy: { sideEffects: "on" } } }');
    await said(/cannot be used/);
    const { attention } = (await ask("GET", "/api/admin/status")).json;
    expect(attention).toContainEqual({
      code: "config.invalid",
      message: expect.stringContaining("tools.policy.sideEffects must be one of enabled, disabled"),
    });
    const refused = await patch({ gateway: { queue: { max: 3 } } });
    expect([refused.status, refused.json.error.code]).toEqual([409, "conflict"]);
    expect(refused.json.error.message).toContain("tools.policy.sideEffects");
    expect(await file()).toContain('"on"');
    // Nor while .env cannot be read.
    await writeFile(home.configFile, "{}");
    await writeFile(home.envFile, "no assignment\n");
    const beside = await patch({ gateway: { queue: { max: 3 } } });
    expect([beside.status, beside.json.error.message]).toEqual([400, expect.stringContaining(`${home.envFile}:1:`)]);
  },
);

verifies(
  "X-24/config",
  "clients hear which settings changed, and the ledger says who did it, never to what",
  async () => {
    const { ask, patch, home, said, url } = await openLiveGateway();
    const client = await dial(url.replace("http", "ws"));
    const updates = () =>
      client.said.filter(({ type }) => type === "config.updated").map(({ payload }) => payload["changed"]);
    await patch({ agents: { main: { prompt: "A canary sentence." } } });
    await vi.waitFor(() => expect(updates()).toContainEqual(["agents.main"]), WAIT);
    await writeFile(home.configFile, '{ approvals: { timeoutS: 60 }, agents: { main: { prompt: "Another one." } } }');
    await said(/applies from now on: agents\.main\.prompt, approvals\.timeoutS/);
    await vi.waitFor(() => expect(updates().at(-1)).toEqual(["agents.main.prompt", "approvals.timeoutS"]), WAIT);
    expect((await ask("GET", "/api/config")).json.approvals.timeoutS).toBe(60);
    const store = await openSqliteReader(home.directory);
    const changes = (await store.readLedger(0, 100)).filter(({ kind }) => kind === "config.changed");
    await store.close();
    expect(changes.map(({ actor, data }) => [actor, data])).toEqual([
      ["operator", { paths: ["agents.main"], configHash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      ["file", { paths: ["agents.main.prompt", "approvals.timeoutS"], configHash: expect.any(String) }],
    ]);
    expect(JSON.stringify(changes)).not.toMatch(/canary|Another/);
  },
);
