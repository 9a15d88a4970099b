/** GET and POST /api/capabilities: what the wire takes, and what reaches the assistant. */
import { describe, expect, test } from "vitest";
import type { Capability } from "../../../src/kernel/vocabulary/capability.ts";
import { asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { AUTHORIZED, errorOf, type RunningGateway, startGateway } from "./running-gateway.ts";

const PATH = "/api/capabilities";
const AT = "2026-11-16T00:00:00.000Z";

async function withSession(): Promise<RunningGateway> {
  const gateway = await startGateway();
  await gateway.queueRun();
  return gateway;
}

const post = (gateway: RunningGateway, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  gateway.ask("POST", PATH, { headers: { ...AUTHORIZED, ...headers }, body });

test("a session's capabilities are two lists of names, and what is known of each", async () => {
  const gateway = await withSession();
  const common = { at: AT, expiresAt: null, runId: null };
  gateway.assistant.sessionCapabilities = {
    granted: [{ ...common, capability: "net" as Capability, state: "granted", by: "operator", expiresAt: AT }],
    pending: [
      { ...common, capability: "net:a.example" as Capability, state: "pending", by: "model", runId: asRunId("run_1") },
    ],
  };
  const answer = await gateway.ask("GET", `${PATH}?session_id=ses_1`, { headers: AUTHORIZED });
  const shown = {
    session_id: "ses_1",
    granted: ["net"],
    pending: ["net:a.example"],
    details: [
      { capability: "net", state: "granted", by: "operator", at: AT, expires_at: AT, run_id: null },
      { capability: "net:a.example", state: "pending", by: "model", at: AT, expires_at: null, run_id: "run_1" },
    ],
  };
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, shown]);
  const granted = await post(gateway, { session_id: "ses_1", grant: "net" });
  expect([granted.status, JSON.parse(granted.text)]).toEqual([200, shown]);
});

test("without a session: what all of them ask for, a page at a time", async () => {
  const gateway = await withSession();
  const common = { state: "pending", by: "model", at: AT, expiresAt: null, runId: asRunId("run_1") } as const;
  gateway.assistant.askedFor = ["ses_1", "ses_2"].map((sessionId) => {
    return { ...common, sessionId: asSessionId(sessionId), capability: "net" as Capability };
  });
  const shown = { capability: "net", state: "pending", by: "model", at: AT, expires_at: null, run_id: "run_1" };
  const [first, second] = ["ses_1", "ses_2"].map((session_id) => ({ session_id, ...shown }));
  for (const [query, pending] of [
    ["", [first, second]],
    ["?limit=1", [first]],
    ["?limit=1&offset=1", [second]],
  ] as const) {
    const answer = await gateway.ask("GET", `${PATH}${query}`, { headers: AUTHORIZED });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { pending }]);
  }
});

test.each([
  [{ grant: "net" }, { act: "grant", capability: "net", expiresInS: null }],
  [
    { grant: "net:a.example", expires_in_s: 60 },
    { act: "grant", capability: "net:a.example", expiresInS: 60 },
  ],
  [
    { revoke: "net", deny: null },
    { act: "revoke", capability: "net", expiresInS: null },
  ],
  [{ deny: "net" }, { act: "deny", capability: "net", expiresInS: null }],
])("%j is one decision, in the operator's name", async (body, decision) => {
  const gateway = await withSession();
  await post(gateway, { session_id: "ses_1", ...body }, { "idempotency-key": "key 1" });
  expect(gateway.assistant.capabilityDecisions).toEqual([
    { sessionId: "ses_1", principal: "operator", key: "key 1", ...decision },
  ]);
});

describe("refusals", () => {
  test.each([
    [{ grant: "net" }, 400, /session_id is required/],
    [{ session_id: "ses_1" }, 400, /exactly one of grant, revoke, deny is required/],
    [{ session_id: "ses_1", grant: "net", revoke: "net" }, 400, /exactly one of grant, revoke, deny is required/],
    [{ session_id: "ses_1", grant: ["net"] }, 400, /grant must be a string/],
    [{ session_id: "ses_1", grant: "net", expires_in_s: -1 }, 400, /expires_in_s must be a whole number/],
    [{ session_id: "ses_1", revoke: "net", expires_in_s: 1 }, 400, /expires_in_s belongs to grant/],
    [{ session_id: "ses_1", grant: "net", by: "root" }, 400, /unknown field by/],
    [{ session_id: "ses_1", grant: "net:*" }, 400, /no capability/],
    [{ session_id: "ses_9", grant: "net" }, 404, /no such session/],
  ])("%j is %i", async (body, status, message) => {
    const gateway = await withSession();
    const answer = await post(gateway, body);
    expect([answer.status, errorOf(answer).message]).toEqual([status, expect.stringMatching(message)]);
    expect(gateway.assistant.capabilityDecisions).toEqual([]);
  });

  test.each([
    ["?session_id=", 400],
    ["?session_id=ses_1&limit=1", 400],
    ["?limit=0", 400],
    ["?session_id=ses_1&session_id=ses_1", 400],
    ["?session=ses_1", 400],
    ["?session_id=ses_9", 404],
  ])("GET %s is %i", async (query, status) => {
    const gateway = await withSession();
    expect((await gateway.ask("GET", `${PATH}${query}`, { headers: AUTHORIZED })).status).toBe(status);
  });

  test("nobody without the token sees or decides anything", async () => {
    const gateway = await withSession();
    const body = { session_id: "ses_1", grant: "net" };
    expect((await gateway.ask("GET", `${PATH}?session_id=ses_1`)).status).toBe(401);
    expect((await gateway.ask("GET", PATH)).status).toBe(401);
    expect((await gateway.ask("POST", PATH, { body })).status).toBe(401);
    expect(gateway.assistant.capabilityDecisions).toEqual([]);
  });
});
