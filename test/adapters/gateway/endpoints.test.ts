import { describe, expect, test } from "vitest";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { StoreError } from "../../../src/runtime/ports/store.ts";
import { citedTitle, verifies } from "../../requirements.ts";
import { PLAN_HASH } from "./memory-assistant.ts";
import { AUTHORIZED, errorOf, type RunningGateway, startGateway } from "./running-gateway.ts";

const GOOD = { agent_id: "main", message: "hello" };

const post = (gateway: RunningGateway, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  gateway.ask("POST", "/v1/runs", { headers: { ...AUTHORIZED, ...headers }, body });
const get = (gateway: RunningGateway, path: string) => gateway.ask("GET", path, { headers: AUTHORIZED });

describe("health", () => {
  verifies(["O-6.3/healthz", "T-1.2/health"], "healthz answers everybody with ok", async () => {
    const gateway = await startGateway();
    for (const path of ["/healthz", "/api/health", "/healthz?verbose=1"]) {
      const answer = await gateway.ask("GET", path);
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.text)).toEqual({ ok: true });
    }
  });

  test("HEAD answers the head alone", async () => {
    const gateway = await startGateway();
    const answer = await gateway.ask("HEAD", "/healthz");
    expect([answer.status, answer.headers["content-length"], answer.text]).toEqual([200, "11", ""]);
  });
});

describe("POST /v1/runs", () => {
  test("a run is accepted with 202, its id, status and session", async () => {
    const gateway = await startGateway();
    const answer = await post(gateway, { ...GOOD, thinking_mode: "always" });
    expect(answer.status).toBe(202);
    expect(JSON.parse(answer.text)).toEqual({ id: "run_1", status: "queued", session_id: "ses_1" });
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(gateway.assistant.requests).toEqual([
      {
        agentId: "main",
        message: "hello",
        sessionId: null,
        model: null,
        thinkingMode: "always",
        contract: {},
        approvedTools: [],
        source: "http",
        principal: "operator",
        idempotencyKey: null,
      },
    ]);
  });

  test("every override reaches the assistant under its own name, null leaves it out", async () => {
    const gateway = await startGateway();
    const contract = {
      tool_policy: "required",
      allowed_tools: ["fs.*"],
      strict_mode: true,
      token_gate: false,
      max_inferences: 3,
      max_tokens_consumed: 4000,
      max_output_tokens: 500,
      max_format_retries: 0,
      max_spend_microusd: 1_000_000,
      step_timeout_ms: 1000,
      total_timeout_ms: null,
      required_effects: [{ tool: "fs.write_text", args: { path: "a.txt" } }, { tool: "fs.*" }],
      cycle_forbid: [["a", "b"]],
      context_budget: { context_window: 9000, force_synthesis_at_ratio: 0.5, reserved_system: null },
      tool_output_budget: { max_bytes_per_call: 100, truncation_marker: "[cut]" },
      grammar_profile: "json",
      grammar: "root ::= object",
      logits_mask: [0, 0.5],
      speculative_exec: true,
    };
    const { status } = await post(gateway, {
      ...GOOD,
      model: "builtin:demo",
      contract,
      approved_tools: ["fs.write_text"],
    });
    expect(status).toBe(202);
    const [request] = gateway.assistant.requests;
    expect(request).toMatchObject({ model: "builtin:demo", thinkingMode: null, approvedTools: ["fs.write_text"] });
    await post(gateway, { ...GOOD, model: { provider: "lab", model: "llama3:8b" } });
    expect(gateway.assistant.requests.at(-1)?.model).toBe("lab:llama3:8b");
    expect(request?.contract).toEqual({
      toolPolicy: "required",
      allowedTools: ["fs.*"],
      strictMode: true,
      tokenGate: false,
      maxInferences: 3,
      maxTokensConsumed: 4000,
      maxOutputTokens: 500,
      maxFormatRetries: 0,
      maxSpendMicrousd: 1_000_000,
      stepTimeoutMs: 1000,
      requiredEffects: [{ tool: "fs.write_text", args: { path: "a.txt" } }, { tool: "fs.*" }],
      cycleForbid: [["a", "b"]],
      contextBudget: { contextWindow: 9000, forceSynthesisAtRatio: 0.5 },
      toolOutputBudget: { maxBytesPerCall: 100, truncationMarker: "[cut]" },
      grammarProfile: "json",
      grammar: "root ::= object",
      logitsMask: [0, 0.5],
      speculativeExec: true,
    });
  });

  test.each([
    [{ message: "hi" }, "agent_id is required"],
    [{ agent_id: "", message: "hi" }, "agent_id must be a string, not empty"],
    [{ agent_id: "main" }, "message is required"],
    [{ agent_id: "main", message: "" }, "message must be a string, not empty"],
    [{ agent_id: "main", message: " \n" }, "message must be a string, not empty"],
    [{ agent_id: 7, message: "hi" }, "agent_id must be a string, not empty"],
    [{ agent_id: "m".repeat(257), message: "hi" }, "agent_id must have at most 256 characters"],
    [{ ...GOOD, thinking_mode: "loud" }, "thinking_mode must be one of never, on_error, always"],
    [{ ...GOOD, thinking_level: "loud" }, "thinking_level must be one of off, low, medium, high"],
    [{ ...GOOD, unattended: "yes" }, "unattended must be true or false"],
    [{ ...GOOD, thinking_level: 1 }, "thinking_level must be one of off, low, medium, high"],
    [{ ...GOOD, session_id: 1 }, "session_id must be a string, not empty"],
    [{ ...GOOD, model: [] }, "model must be a string, not empty"],
    [{ ...GOOD, model: { provider: "lab" } }, "model.model is required"],
    [{ ...GOOD, model: { provider: "a:b", model: "m" } }, "model.provider must match ^[^:"],
    [{ ...GOOD, model: { provider: "a", model: "m", more: 1 } }, "unknown field more in model; known: provider, model"],
    [{ ...GOOD, contract: [] }, "contract must be a JSON object"],
    [{ ...GOOD, contract: { max_inferences: -1 } }, "contract.max_inferences must be a whole number, 0 or more"],
    [{ ...GOOD, contract: { max_inferences: 1.5 } }, "contract.max_inferences must be a whole number, 0 or more"],
    [{ ...GOOD, contract: { step_timeout_ms: "5" } }, "step_timeout_ms must be a whole number, 0 or more"],
    [{ ...GOOD, contract: { strict_mode: 1 } }, "strict_mode must be true or false"],
    [{ ...GOOD, contract: { tool_policy: "any" } }, "tool_policy must be one of required, forbidden, optional"],
    [{ ...GOOD, contract: { allowed_tools: "fs.*" } }, "allowed_tools must be a list"],
    [{ ...GOOD, contract: { allowed_tools: [1] } }, "allowed_tools[0] must be a string, not empty"],
    [{ ...GOOD, contract: { cycle_forbid: [["a"]] } }, "contract.cycle_forbid[0] must be a list of 2"],
    [{ ...GOOD, contract: { cycle_forbid: [["a", "b", "c"]] } }, "contract.cycle_forbid[0] must be a list of 2"],
    [{ ...GOOD, contract: { required_effects: [{}] } }, "contract.required_effects[0].tool is required"],
    [
      { ...GOOD, contract: { required_effects: [{ tool: "a", args: [] }] } },
      "required_effects[0].args must be a JSON object",
    ],
    [{ ...GOOD, principal: "root" }, "unknown field principal in the body; known: agent_id"],
    [{ ...GOOD, contract: { context_budget: 1 } }, "context_budget must be a JSON object"],
    [{ ...GOOD, contract: { context_budget: { window: 1 } } }, "unknown field window in contract.context_budget"],
    [{ ...GOOD, contract: { logits_mask: ["a"] } }, "logits_mask[0] must be a number"],
    [{ ...GOOD, contract: { max_inferencez: 1 } }, "unknown field max_inferencez in contract; known: tool_policy"],
    [["main", "hi"], "the body must be a JSON object"],
    [null, "the body must be a JSON object"],
    ["hi", "the body must be a JSON object"],
  ])("%j is refused by name and leaves nothing behind", async (body, message) => {
    const gateway = await startGateway();
    const answer = await post(gateway, body);
    expect(answer.status).toBe(400);
    expect(errorOf(answer).code).toBe("invalid.request");
    expect(errorOf(answer).message).toContain(message);
    expect(gateway.assistant.requests).toEqual([]);
  });

  test("an unknown field that could be a secret is not repeated", async () => {
    const gateway = await startGateway();
    const answer = await post(gateway, { ...GOOD, "sk-4f9a8b7c6d": 1 });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain("4f9a8b7c6d");
  });

  test("the same idempotency key is the same run; the answer says so", async () => {
    const gateway = await startGateway();
    const key = { "idempotency-key": "order 66/ä".replace("ä", "a") };
    const first = await post(gateway, GOOD, key);
    const second = await post(gateway, GOOD, key);
    expect(JSON.parse(second.text)).toEqual(JSON.parse(first.text));
    expect([first, second].map(({ headers }) => headers["idempotent-replayed"])).toEqual([undefined, "true"]);
    expect(gateway.assistant.requests.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      "order 66/a",
      "order 66/a",
    ]);
    const other = await post(gateway, { ...GOOD, message: "other" }, key);
    expect([other.status, errorOf(other).code]).toEqual([409, "conflict"]);
  });

  test.each(["", "k".repeat(256), "ä"])("the idempotency key %j is refused", async (key) => {
    const gateway = await startGateway();
    const answer = await post(gateway, GOOD, { "idempotency-key": key });
    expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid.request"]);
  });

  verifies("O-5.5/full", "what the assistant refuses has its status: unknown session 404, full queue 429", async () => {
    const gateway = await startGateway();
    const unknown = await post(gateway, { ...GOOD, session_id: "ses_none" });
    expect([unknown.status, errorOf(unknown).code]).toEqual([404, "not_found"]);
    gateway.assistant.maxQueued = 0;
    const full = await post(gateway, GOOD);
    expect([full.status, errorOf(full)]).toEqual([429, { code: "queue.full", message: "run queue is full" }]);
    expect(full.headers["retry-after"]).toBe("2");
  });
});

describe("GET /v1/runs", () => {
  verifies(
    ["O-5.3/query", "O-5.3/total"],
    "runs are listed by status, limit and offset, with the total; 50 by default",
    async () => {
      const gateway = await startGateway();
      const ids: RunId[] = [];
      for (let made = 0; made < 55; made += 1) ids.push(await gateway.queueRun());
      for (const id of ids.slice(0, 3)) gateway.assistant.end(id);

      const all = JSON.parse((await get(gateway, "/v1/runs")).text);
      expect(all).toMatchObject({ total: 55, limit: 50, offset: 0 });
      expect(all.runs).toHaveLength(50);
      expect(all.runs[0].id).toBe("run_55");

      const rest = JSON.parse((await get(gateway, "/v1/runs?offset=50&limit=500")).text);
      expect(rest).toMatchObject({ total: 55, limit: 500, offset: 50 });
      expect(rest.runs).toHaveLength(5);

      const completed = JSON.parse((await get(gateway, "/v1/runs?status=completed&limit=2")).text);
      expect(completed).toMatchObject({ total: 3, limit: 2 });
      expect(completed.runs.map(({ id }: { id: string }) => id)).toEqual(["run_3", "run_2"]);
    },
  );

  test.each([
    ["limit=0", "limit"],
    ["limit=501", "limit"],
    ["limit=-1", "limit"],
    ["limit=1e2", "limit"],
    ["limit=", "limit"],
    ["limit=%20%205", "limit"],
    ["limit=5&limit=5", "limit"],
    ["offset=-1", "offset"],
    ["offset=1e9", "offset"],
    ["offset=9999999999999999", "offset"],
    ["status=done", "status"],
    ["status=", "status"],
    ["status=queued&status=queued", "status"],
    ["stauts=queued", "status"],
    ["limit=-1&offset=1e9&limit=500", "limit"],
  ])(citedTitle("O-5.3/query", "?%s is refused, naming %s"), async (query, name) => {
    const gateway = await startGateway();
    const answer = await get(gateway, `/v1/runs?${query}`);
    expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid.request"]);
    expect(errorOf(answer).message).toContain(name);
  });
});

describe("one run", () => {
  test("its record comes whole", async () => {
    const gateway = await startGateway();
    const id = await gateway.queueRun();
    gateway.assistant.end(id);
    const answer = await get(gateway, `/v1/runs/${id}`);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual(await gateway.assistant.run(id));
    expect(JSON.parse(answer.text)).toMatchObject({ id, status: "completed", output: "done: ü" });
  });

  test("cancelling says the new status and who did it; of an ended run it changes nothing and says how it ended", async () => {
    const gateway = await startGateway();
    const id = await gateway.queueRun();
    const cancel = () => gateway.ask("POST", `/v1/runs/${id}/cancel`, { headers: AUTHORIZED });
    const answer = await cancel();
    expect([answer.status, JSON.parse(answer.text)]).toEqual([202, { id, status: "cancelled" }]);
    const again = await cancel();
    expect([again.status, JSON.parse(again.text)]).toEqual([202, { id, status: "cancelled" }]);
    expect(gateway.assistant.cancelledBy).toEqual(["operator"]);
  });

  test("the bundle of an ended run is its text, byte for byte; of another it is 409", async () => {
    const gateway = await startGateway();
    const id = await gateway.queueRun();
    expect((await get(gateway, `/v1/runs/${id}/bundle`)).status).toBe(409);
    gateway.assistant.end(id);
    const answer = await get(gateway, `/v1/runs/${id}/bundle`);
    const bundle = await gateway.assistant.bundle(id);
    expect([answer.status, answer.text]).toEqual([200, bundle.ok ? bundle.text : null]);
  });

  test.each([
    ["GET", "/v1/runs/run_none"],
    ["GET", "/v1/runs/run_none/events"],
    ["GET", "/v1/runs/run_none/bundle"],
    ["POST", "/v1/runs/run_none/cancel"],
  ])("%s %s is 404", async (method, path) => {
    const gateway = await startGateway();
    const answer = await gateway.ask(method, path, { headers: AUTHORIZED });
    expect([answer.status, errorOf(answer)]).toEqual([404, { code: "not_found", message: "no such run" }]);
  });
});

describe("approvals", () => {
  test("cards are listed with their plan in full", async () => {
    const gateway = await startGateway();
    expect((await get(gateway, "/api/approvals")).text).toBe('{"approvals":[]}');
    const runId = await gateway.queueRun();
    gateway.assistant.addCard(runId);
    gateway.assistant.addCard(runId, "resolve");
    const answer = await get(gateway, "/api/approvals");
    expect(JSON.parse(answer.text).approvals).toEqual([
      {
        id: "apr_1",
        kind: "approve",
        run_id: runId,
        session_id: "ses_1",
        call_id: "call-1",
        step: 2,
        tool: "fs.write_text",
        plan: "write 5 bytes to a.txt",
        plan_ref: "c".repeat(64),
        plan_hash: PLAN_HASH,
        why: "side_effect",
        labels: { integrity: "user", confidentiality: "private" },
        created_at: "2025-12-06T05:46:40.123Z",
        expires_at: "2025-12-06T05:56:40.123Z",
        state: "pending",
        decided_by: null,
        decided_at: null,
        explain: null,
        call: null,
        provenance: [],
      },
      expect.objectContaining({ id: "apr_2", kind: "resolve" }),
    ]);
    const paged = await get(gateway, "/api/approvals?limit=1&offset=1");
    expect(JSON.parse(paged.text).approvals).toHaveLength(1);
    expect((await get(gateway, "/api/approvals?limit=501")).status).toBe(400);
  });

  test("a decision goes to the assistant with the plan's hash and the operator's name", async () => {
    const gateway = await startGateway();
    gateway.assistant.addCard(await gateway.queueRun());
    const body = { decision: "allow", plan_hash: PLAN_HASH };
    const answer = await gateway.ask("POST", "/api/approvals/apr_1", { headers: AUTHORIZED, body });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { id: "apr_1", decision: "allow" }]);
    expect(gateway.assistant.decisions).toEqual([
      { id: "apr_1", decision: "allow", planHash: PLAN_HASH, principal: "operator" },
    ]);
  });

  test.each([
    ["apr_1", { decision: "allow", plan_hash: "d".repeat(64) }, 409, "conflict"],
    ["apr_1", { decision: "allow", plan_hash: "wrong" }, 409, "conflict"],
    ["apr_1", { decision: "allow" }, 400, "invalid.request"],
    ["apr_1", { decision: "maybe", plan_hash: PLAN_HASH }, 400, "invalid.request"],
    ["apr_1", { plan_hash: PLAN_HASH }, 400, "invalid.request"],
    ["apr_1", { decision: "allow", plan_hash: PLAN_HASH, principal: "me" }, 400, "invalid.request"],
    ["apr_9", { decision: "allow", plan_hash: PLAN_HASH }, 404, "not_found"],
  ])("%s %j is %i and decides nothing", async (id, body, status, code) => {
    const gateway = await startGateway();
    gateway.assistant.addCard(await gateway.queueRun());
    const answer = await gateway.ask("POST", `/api/approvals/${id}`, { headers: AUTHORIZED, body });
    expect([answer.status, errorOf(answer).code]).toEqual([status, code]);
    expect(gateway.assistant.decisions).toEqual([]);
  });
});

describe("errors", () => {
  test.each([
    "/v1",
    "/v1/runs/",
    "/V1/runs",
    "//v1/runs",
    "/v1/runs/../runs",
    "/v1/%72uns",
    "/v1/runs/a%2fb",
    "/healthz/",
  ])("%s is no path", async (path) => {
    const gateway = await startGateway();
    const answer = await get(gateway, path);
    expect([answer.status, errorOf(answer)]).toEqual([404, { code: "not_found", message: "no such path" }]);
  });

  test.each([
    ["DELETE", "/v1/runs", "GET, HEAD, POST"],
    ["PUT", "/v1/runs/run_1", "GET, HEAD, DELETE"],
    ["POST", "/v1/runs/run_1/events", "GET"],
    ["GET", "/v1/runs/run_1/cancel", "POST"],
    ["POST", "/healthz", "GET, HEAD"],
    ["OPTIONS", "/v1/runs", "GET, HEAD, POST"],
    ["GET", "/api/approvals/apr_1", "POST"],
  ])("%s %s is 405 and says what is allowed", async (method, path, allow) => {
    const gateway = await startGateway();
    const answer = await gateway.ask(method, path, { headers: AUTHORIZED });
    expect([answer.status, answer.headers["allow"], errorOf(answer).code]).toEqual([405, allow, "method.not_allowed"]);
  });

  const EVERY_CALL = [
    ["POST", "/v1/runs", GOOD],
    ["GET", "/v1/runs", undefined],
    ["GET", "/v1/runs/run_1", undefined],
    ["GET", "/v1/runs/run_1/events", undefined],
    ["GET", "/v1/runs/run_1/bundle", undefined],
    ["POST", "/v1/runs/run_1/cancel", undefined],
    ["GET", "/api/approvals", undefined],
    ["POST", "/api/approvals/apr_1", { decision: "allow", plan_hash: PLAN_HASH }],
    ["GET", "/api/capabilities?session_id=ses_1", undefined],
    ["POST", "/api/capabilities", { session_id: "ses_1", grant: "net" }],
  ] as const;

  test.each(EVERY_CALL)("a failure inside %s %s shows its id and nothing else", async (method, path, body) => {
    const gateway = await startGateway();
    gateway.assistant.failure = new Error("password hunter2 at /home/x");
    const answer = await gateway.ask(method, path, { headers: AUTHORIZED, body });
    expect([answer.status, errorOf(answer).code]).toEqual([500, "internal.error"]);
    expect(answer.text).not.toMatch(/hunter2|home|Error|at /);
    expect(gateway.errors).toEqual([{ error: gateway.assistant.failure, errorId: expect.stringMatching(/^err_\w+$/) }]);
    expect(errorOf(answer).message).toContain(gateway.errors[0]?.errorId ?? "no id");
  });

  test.each(EVERY_CALL)("%s %s on a store that takes nothing is 503 with Retry-After", async (method, path, body) => {
    const gateway = await startGateway();
    gateway.assistant.failure = new StoreError("store.unavailable", "disk full at /x");
    const answer = await gateway.ask(method, path, { headers: AUTHORIZED, body });
    expect([answer.status, errorOf(answer).code, answer.headers["retry-after"]]).toEqual([
      503,
      "store.unavailable",
      "2",
    ]);
    expect(gateway.errors).toEqual([]);
  });

  verifies("O-6.3/errors", "every error, of whatever kind, has the one shape and is kept by nobody", async () => {
    const gateway = await startGateway();
    const answers = [
      await gateway.ask("GET", "/v1/runs"),
      await get(gateway, "/nowhere"),
      await get(gateway, "/v1/runs?limit=x"),
      await gateway.ask("DELETE", "/v1/runs", { headers: AUTHORIZED }),
      await gateway.ask("GET", "/healthz", { headers: { host: "evil.test" } }),
      await post(gateway, "x".repeat(2_000_000)),
      await gateway.ask("GET", "/v1/runs", { headers: { ...AUTHORIZED, padding: "x".repeat(20_000) } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 400, 405, 403, 413, 431]);
    for (const answer of answers) {
      expect(Object.keys(JSON.parse(answer.text))).toEqual(["error"]);
      expect(errorOf(answer)).toEqual({ code: expect.any(String), message: expect.any(String) });
      expect(answer.headers).toMatchObject({
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      });
    }
  });
});
