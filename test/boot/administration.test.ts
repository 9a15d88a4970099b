/** What administrators ask of a running home: models, budget, policy, status (O-6.2). */
import { expect, vi } from "vitest";
import { verifies } from "../requirements.ts";
import { openLiveGateway } from "./live-gateway.ts";

const CONFIG = JSON.stringify({
  models: {
    default: "acme:large",
    providers: {
      acme: {
        baseUrl: "https://models.example.invalid/v1",
        models: {
          large: {
            contextWindow: 32_768,
            maxOutputTokens: 1024,
            tier: "premium",
            costPer1kInput: 0.01,
            costPer1kOutput: 0.02,
          },
        },
      },
    },
  },
  budgets: { perDayUsd: 5, perRunUsd: 1 },
});

verifies("O-6.2", "status names the model that lacks its key, and the line to add", async () => {
  const { ask, home, defects } = await openLiveGateway({ config: CONFIG });
  const { status, json } = await ask("GET", "/api/admin/status");
  expect(status).toBe(200);
  const problem = `No key for provider acme: put ACME_API_KEY=… in ${home.envFile}`;
  expect(json).toMatchObject({
    model: { ref: "acme:large", provider: "acme", problem },
    providers: [{ id: "acme", key_present: false }],
    runs: [],
    queue: { queued: 0, running: 0, waiting_approval: 0, max: 1000, workers: 64 },
    restart_required: [],
  });
  expect(json.store.bytes).toBeGreaterThan(0);
  expect(json.attention).toContainEqual({ code: "model.unusable", message: problem });
  const models = (await ask("GET", "/api/models")).json;
  expect(models.default).toBe("acme:large");
  expect(models.providers[0]).toMatchObject({
    ...{ key_variable: "ACME_API_KEY", key_present: false },
    missing: { line: "ACME_API_KEY=…", file: home.envFile },
  });
  expect(models.models[0]).toMatchObject({
    model: "acme:large",
    provider: "acme",
    tier: "premium",
    default: true,
    problem,
  });
  const checked = (await ask("POST", "/api/models/check", {})).json;
  expect(checked).toMatchObject({ model: "acme:large", ok: false, detail: problem });
  const demo = (await ask("POST", "/api/models/check", { model: "builtin:demo" })).json;
  expect(demo).toMatchObject({ model: "builtin:demo", ok: true });
  expect((await ask("POST", "/api/models/check", { model: "acme:small" })).status).toBe(404);
  expect(defects).toEqual([]);
});

verifies("X-6", "the budget is what surety budget shows, a day after the other", async () => {
  const { ask, submit, ended } = await openLiveGateway({ config: CONFIG });
  await ended(await submit("list files", { model: "builtin:demo" }));
  const { json } = await ask("GET", "/api/budget?days=2");
  expect(json.per_run).toEqual({ limit_usd: 1, limit_tokens: null });
  expect(json.days).toHaveLength(2);
  const [today] = json.days;
  const all = today.spent.find(({ scope }: { scope: string }) => scope === "all");
  expect(all).toMatchObject({ limit_usd: 5, reserved_usd: 0, over: false });
  expect(all.tokens).toBeGreaterThan(0);
  expect(today.spent.map(({ scope }: { scope: string }) => scope)).toContain("model:builtin:demo");
  expect((await ask("GET", "/api/budget?day=2026-02-30")).status).toBe(400);
});

verifies("P-3.2", "the policy and the reason of each decision are those of surety policy", async () => {
  const { ask } = await openLiveGateway();
  const { json } = await ask("GET", "/api/policy");
  const mail = json.channels.find(({ channel }: { channel: string }) => channel === "external_email");
  const row = mail.tools.find(({ tool }: { tool: string }) => tool === "fs.write_text");
  expect(row).toMatchObject({ decision: "deny", policy_id: "policy.channel" });
  const call = { tool: "fs.write_text", args: { path: "a.txt", text: "hello" } };
  const here = (await ask("POST", "/api/policy/explain", call)).json;
  expect(here).toMatchObject({ decision: "approve", policy_id: "policy.risk.side_effect", channel: "cli_local" });
  const there = (await ask("POST", "/api/policy/explain", { ...call, channel: "external_email" })).json;
  expect(there).toMatchObject({ decision: "deny", policy_id: row.policy_id, reason: row.reason });
  expect((await ask("POST", "/api/policy/explain", { tool: "fs.burn" })).status).toBe(404);
  expect((await ask("POST", "/api/policy/explain", { ...call, session_id: "session_none" })).status).toBe(404);
});

verifies("M-9", "the corpus runs for a client, beside other runs, and its matrix is there to read", async () => {
  const { ask, defects } = await openLiveGateway();
  const begun = await ask("POST", "/api/models/conformance", {});
  expect([begun.status, begun.json.model, begun.json.done]).toEqual([202, "builtin:demo", 0]);
  expect((await ask("POST", "/api/models/conformance", {})).status).toBe(409);
  const state = await vi.waitFor(
    async () => {
      const { json } = await ask("GET", "/api/models/conformance");
      expect(json.running).toBeNull();
      return json;
    },
    { timeout: 60_000, interval: 50 },
  );
  expect(state.last).toMatchObject({ model: "builtin:demo", problem: null });
  const [report] = state.reports;
  expect(report.model).toBe("builtin:demo");
  expect(report.cases).toHaveLength(begun.json.total);
  expect(report.passed + report.failed).toBe(report.cases.length);
  const [row] = (await ask("GET", "/api/models")).json.models;
  expect(row.conformance.passed).toBe(report.passed);
  expect(defects).toEqual([]);
});

verifies("X-6", "under a limit of the day the corpus is refused, since nothing could hold it", async () => {
  const { ask } = await openLiveGateway({ config: CONFIG });
  const refused = await ask("POST", "/api/models/conformance", { model: "builtin:demo" });
  expect([refused.status, refused.json.error.code]).toEqual([409, "conflict"]);
});
