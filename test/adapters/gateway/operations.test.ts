/** What follows from the table: tokens and scopes on every path, GET /api/tools, GET /openapi.json. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { HTTP_OPERATIONS } from "../../../src/adapters/gateway/gateway-operations.ts";
import { HttpError } from "../../../src/adapters/gateway/http-error.ts";
import { createRequestServer } from "../../../src/adapters/gateway/serve-request.ts";
import { SessionCookie } from "../../../src/adapters/gateway/session-cookie.ts";
import { bindOperations, OPERATIONS } from "../../../src/assistant/operations.ts";
import { ANONYMOUS, type Grant } from "../../../src/runtime/access/grant.ts";
import { isProven } from "../../../src/runtime/operations/gateway-identity.ts";
import { scopesUpTo } from "../../../src/runtime/operations/operation.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryAssistant, TOOL } from "./memory-assistant.ts";
import { AUTHORIZED, errorOf, startGateway } from "./running-gateway.ts";
import { IDENTITY, makeIdentity } from "./test-identity.ts";

test("every name is unique, and so is every method on a path", () => {
  const names = HTTP_OPERATIONS.map(({ name }) => name);
  const endpoints = HTTP_OPERATIONS.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(endpoints).size).toBe(endpoints.length);
});

const NONCE = "n".repeat(43);

test("every operation but the public ones needs the token", async () => {
  const gateway = await startGateway();
  for (const { method, path, scope } of HTTP_OPERATIONS) {
    const { status } = await gateway.ask(
      method,
      path.replace("identity", `identity?nonce=${NONCE}`).replace("{id}", "run_1").replace("{name}", "crm"),
    );
    // A hook is open to every caller and believes none without a signature.
    const open = path.startsWith("/hooks/") ? 403 : path === "/api/login" ? 400 : 200;
    expect([path, status]).toEqual([path, scope === "public" ? open : 401]);
  }
});

test("a token without an operation's scope gets 403, and 404 where there is no path", async () => {
  const operations = bindOperations(new MemoryAssistant().services);
  const grant: Grant = { ...ANONYMOUS, principal: "guest", scopes: scopesUpTo("chat") };
  const { serve } = createRequestServer({
    mounts: [],
    operations,
    admission: {
      ...{ checkSite: () => {}, identify: () => grant, admit: () => grant },
      addressOf: () => "",
      refuseProof: (message) => new HttpError("auth.required", message),
      isAllowedSite: (_): _ is string => false,
    },
    clock: new ManualClock(),
    cookie: new SessionCookie(false),
    isHealthy: () => true,
    streamLimits: { ofOneCredential: 1, ofASender: 1, inAll: 1 },
    prove: () => expect.unreachable("nothing is asked"),
    onRefused: () => {},
    onProven: () => {},
    onError: () => {},
  });
  const server = createServer(serve);
  onTestFinished(() => {
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const statusOf = async (path: string): Promise<number> => (await fetch(`${url}${path}`)).status;
  expect(await Promise.all(["/healthz", "/v1/runs", "/openapi.json", "/nowhere"].map(statusOf))).toEqual([
    200, 403, 403, 404,
  ]);
});

test("a GET refuses fields that its schema does not have", async () => {
  const gateway = await startGateway();
  for (const { method, path } of OPERATIONS) {
    if (method !== "GET") continue;
    const answer = await gateway.ask("GET", `${path.replace(/\{\w+\}/, "run_1")}?cache_buster=1`, {
      headers: AUTHORIZED,
    });
    expect([path, answer.status, errorOf(answer).code]).toEqual([path, 400, "invalid.request"]);
  }
});

describe("GET /api/tools", () => {
  test("lists each registered tool with the schema of its arguments and its risk", async () => {
    const gateway = await startGateway();
    const answer = await gateway.ask("GET", "/api/tools", { headers: AUTHORIZED });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { tools: [TOOL] }]);
  });
});

describe("GET /openapi.json", () => {
  interface Parameter {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: object;
  }
  interface Described {
    readonly operationId: string;
    readonly summary: string;
    readonly security: readonly object[];
    readonly parameters: readonly Parameter[];
    readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
    readonly responses: Readonly<Record<string, { readonly description?: string; readonly $ref?: string }>>;
  }
  interface Document {
    readonly openapi: string;
    readonly info: { readonly title: string; readonly version: string };
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  }

  async function read(): Promise<{ readonly text: string; readonly document: Document }> {
    const gateway = await startGateway();
    const { status, text } = await gateway.ask("GET", "/openapi.json", { headers: AUTHORIZED });
    expect(status).toBe(200);
    return { text, document: JSON.parse(text) };
  }

  test("is OpenAPI 3.1: required fields, unique operation ids, a description for each response", async () => {
    const { document } = await read();
    expect(document).toMatchObject({
      openapi: "3.1.0",
      info: { title: expect.any(String), version: expect.any(String) },
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
    });
    const described = Object.values(document.paths).flatMap((path) => Object.values(path));
    expect(new Set(described.map(({ operationId }) => operationId)).size).toBe(described.length);
    for (const { operationId, responses } of described) {
      expect([operationId, Object.keys(responses).every((code) => /^(default|[1-5]\d\d)$/.test(code))]).toEqual([
        operationId,
        true,
      ]);
      for (const response of Object.values(responses)) {
        expect(typeof (response.$ref ?? response.description)).toBe("string");
      }
    }
  });

  test("every placeholder of a path has its required parameter, and no parameter is there twice", async () => {
    const { document } = await read();
    for (const [path, methods] of Object.entries(document.paths)) {
      const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters } of Object.values(methods)) {
        const inPath = parameters.filter((parameter) => parameter.in === "path");
        expect(inPath.map(({ name, required }) => [name, required])).toEqual(placeholders.map((name) => [name, true]));
        const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
        expect(new Set(keys).size).toBe(keys.length);
        for (const { schema } of parameters) expect(schema).toBeTypeOf("object");
      }
    }
  });

  test("every reference in it leads somewhere", async () => {
    const { text, document } = await read();
    const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, pointer = ""]) => pointer);
    expect(references.length).toBeGreaterThan(0);
    for (const pointer of new Set(references)) {
      let at: unknown = document;
      for (const key of pointer.split("/")) at = (at as Record<string, unknown>)[key];
      expect([pointer, at]).toEqual([pointer, expect.any(Object)]);
    }
  });

  test("describes every operation: security, headers, body, error shape and events", async () => {
    const { document } = await read();
    for (const { name, method, path, scope } of HTTP_OPERATIONS) {
      expect(document.paths[path]?.[method.toLowerCase()]).toMatchObject({
        operationId: name,
        security: scope === "public" ? [] : [{ bearer: [scope] }],
        responses: { default: { $ref: "#/components/responses/Error" } },
      });
    }
    const create = document.paths["/v1/runs"]?.["post"];
    expect(create?.parameters.map(({ name }) => name)).toEqual(["Idempotency-Key"]);
    expect(create?.requestBody?.content["application/json"]?.schema).toMatchObject({
      required: ["agent_id", "message"],
      properties: { contract: { properties: { max_inferences: { type: "integer", minimum: 0 } } } },
      additionalProperties: false,
    });
    expect(Object.keys(create?.responses ?? {})).toEqual(["202", "default"]);
    expect(document.paths["/v1/runs/{id}/events"]?.["get"]).toMatchObject({
      parameters: [
        { in: "path", name: "id" },
        { in: "header", name: "Last-Event-ID" },
      ],
      responses: {
        200: { content: { "text/event-stream": { "x-events": { delta: {}, "run.completed": {} } } } },
        204: { description: expect.any(String) },
      },
    });
    // The path carries the id, so the body of a decision does not.
    const decide = document.paths["/api/approvals/{id}"]?.["post"];
    expect(decide?.requestBody?.content["application/json"]?.schema).toEqual({
      type: "object",
      required: ["decision", "plan_hash"],
      properties: { decision: expect.any(Object), plan_hash: expect.any(Object) },
      additionalProperties: false,
    });
  });
});

describe("the proof of identity", () => {
  test("signs the nonce and the gateway's own address, and nothing that could pass for another signature", async () => {
    const gateway = await startGateway();
    const answered = await gateway.ask("GET", `/v1/identity?nonce=${NONCE}`);
    const proof = JSON.parse(answered.text);
    expect(proof).toMatchObject({ url: gateway.url, public_key: IDENTITY.publicKey });
    expect(isProven(proof, gateway.url, NONCE, IDENTITY)).toBe(true);
    expect(isProven(proof, gateway.url, "m".repeat(43), IDENTITY)).toBe(false);
    expect(isProven(proof, "http://127.0.0.1:1", NONCE, IDENTITY)).toBe(false);
    expect(isProven(proof, gateway.url, NONCE, makeIdentity())).toBe(false);
    const signed = ["surety gateway identity, version 1", gateway.url, NONCE].join("\n");
    expect(IDENTITY.verifySignature(IDENTITY.publicKey, signed, proof.signature)).toBe(true);
  });

  test.each([
    "",
    "?nonce=",
    `?nonce=${"n".repeat(31)}`,
    `?nonce=${"n".repeat(87)}`,
    `?nonce=${"n".repeat(40)}%0A`,
    `?nonce=${"n".repeat(40)}%7B%22`,
    `?nonce=${NONCE}&nonce=${NONCE}`,
    `?nonce=${NONCE}&more=1`,
  ])("refuses %j", async (query) => {
    const gateway = await startGateway();
    expect((await gateway.ask("GET", `/v1/identity${query}`)).status).toBe(400);
  });
});
