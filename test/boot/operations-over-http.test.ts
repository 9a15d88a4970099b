/**
 * Every operation of the table, called over HTTP on a real home: what it answers is what it declares. An operation that is new
 * here is called with the least that its schema asks for.
 */
import { Validator } from "@seriousme/openapi-schema-validator";
import type { TSchema } from "typebox";
import { describe, expect } from "vitest";
import { HTTP_OPERATIONS } from "../../src/adapters/gateway/gateway-operations.ts";
import { ERROR_CODES } from "../../src/adapters/gateway/http-error.ts";
import { bodyOf, placeholdersIn, queryOf } from "../../src/adapters/gateway/read-input.ts";
import { isValid } from "../../src/runtime/operations/check-value.ts";
import { takesBody } from "../../src/runtime/operations/operation.ts";
import { verifies } from "../requirements.ts";
import { DOT_PNG } from "../runtime/sample-images.ts";
import { openInterface } from "./interface-gateway.ts";

type Operation = (typeof HTTP_OPERATIONS)[number];
type Json = Readonly<Record<string, unknown>>;
type Opened = Awaited<ReturnType<typeof openInterface>>;

/** What there is to ask about. */
interface Facts {
  readonly run: string;
  readonly session: string;
  readonly card: { readonly id: string; readonly plan_hash: string };
}

async function stage(opened: Opened): Promise<Facts> {
  const run = await opened.submit([{ tool: "clock.now" }]);
  const { session_id: session } = await opened.ended(run);
  const asking = await opened.submit([{ tool: "fs.write_text", path: "a.txt", text: "hello" }]);
  return { run, session, card: await opened.cardOf(asking) };
}

/** Where the least that a schema asks for means nothing. */
const INPUTS: Readonly<Record<string, (facts: Facts) => Json>> = {
  identity: () => ({ nonce: "n".repeat(43) }),
  "approvals.decide": ({ card: { id, plan_hash } }) => ({ id, plan_hash, decision: "deny" }),
  "runs.create": () => ({ agent_id: "main", message: "hello" }),
  "runs.cancel": ({ run }) => ({ id: run }),
  "capabilities.decide": ({ session }) => ({ session_id: session, grant: "net:example.org" }),
  "sessions.rename": ({ session }) => ({ id: session, title: "Notes" }),
  "media.add": () => ({ data: DOT_PNG.toString("base64") }),
  "runs.what-if": ({ run }) => ({ id: run, policy: { sideEffects: "disabled" } }),
  "policy.test": () => ({ policy: { sideEffects: "disabled" } }),
  "pairings.decide": () => ({ sender: "telegram:1", decision: "accept" }),
  "tokens.add": () => ({ name: "a script", scope: "operate" }),
  "policy.explain": () => ({ tool: "fs.read_text", args: { path: "a.txt" } }),
};

/** These need what this home has not: a signature, a code, a browser, a letter that failed. */
const REFUSED = [
  ...["hooks.receive", "login", "browsers.end", "outbox.settle", "tokens.rotate", "tokens.remove", "marks.remove"],
  ...["logout", "media.get", "config.update", "admin.config.replace", "models.conformance.run", "budget.held"],
];

function leastOf(operation: Operation, { run, session }: Facts): Json {
  const { input, path } = operation;
  const least = Object.fromEntries((input.required ?? []).map((name) => [name, leastValue(input.properties[name])]));
  if (!("id" in least)) return least;
  return { ...least, id: path.includes("session") ? session : run };
}

function leastValue(schema: TSchema | undefined): unknown {
  const { type, enum: choices } = (schema ?? {}) as { readonly type?: string; readonly enum?: readonly unknown[] };
  if (choices !== undefined) return choices[0];
  return { integer: 1, number: 1, boolean: true, array: [], object: {} }[type ?? ""] ?? "text";
}

function requestOf(operation: Operation, input: Json): { readonly path: string; readonly body: object | undefined } {
  const places = placeholdersIn(operation.path);
  const path = places.reduce((text, name) => text.replace(`{${name}}`, String(input[name])), operation.path);
  const inQuery = Object.keys(queryOf(operation).properties).filter((name) => input[name] !== undefined);
  const query = new URLSearchParams(inQuery.map((name) => [name, String(input[name])]));
  const { method, bodyField } = operation;
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => ![...places, ...inQuery].includes(name)));
  const whole = bodyField === undefined ? rest : (input[bodyField] as object);
  const body = takesBody(method) && bodyOf(operation) !== null ? whole : undefined;
  return { path: query.size === 0 ? path : `${path}?${query}`, body };
}

describe("the table of operations", () => {
  verifies("O-6.3", "each answers what it declares, or a declared error", async () => {
    const opened = await openInterface();
    const facts = await stage(opened);
    const refused: string[] = [];
    const said: string[] = [];
    for (const operation of HTTP_OPERATIONS) {
      if (operation.kind === "stream" || operation.kind === "file") continue;
      const { name, method, output } = operation;
      const { path, body } = requestOf(operation, INPUTS[name]?.(facts) ?? leastOf(operation, facts));
      const { status, json } = await opened.ask(method, path, body);
      const where = `${name}: ${method} ${path} → ${status} ${JSON.stringify(json).slice(0, 300)}`;
      if (status < 400) {
        const declared = operation.kind === "json" ? (operation.status ?? 200) : 200;
        expect([declared, 200], where).toContain(status);
        expect(isValid(output, json), where).toBe(true);
      } else {
        refused.push(name);
        said.push(where);
        expect(json, where).toEqual({
          error: expect.objectContaining({ code: expect.any(String), message: expect.any(String) }),
        });
        expect(ERROR_CODES, where).toContain(json.error.code);
        expect(status, where).not.toBe(500);
      }
    }
    const known = new Set([...Object.keys(INPUTS), "runs.get", "chat.send", "sessions.send"]);
    expect(
      refused.filter((name) => known.has(name) && !REFUSED.includes(name)),
      said.join("\n"),
    ).toEqual([]);
    expect(opened.defects).toEqual([]);
  });

  verifies("O-6.3", "each stream says the events that it declares", async () => {
    const opened = await openInterface();
    const run = await opened.submit([{ tool: "clock.now" }]);
    await opened.ended(run);
    for (const operation of HTTP_OPERATIONS) {
      if (operation.kind !== "stream") continue;
      const { events, lastEvents, name } = operation;
      const listened = await opened.listen(operation.path.replace("{id}", run));
      const heard =
        lastEvents.length === 0
          ? [await listened.next()]
          : await listened.until(({ event }) => lastEvents.includes(event));
      for (const { event, data } of heard) {
        const schema = events[event];
        expect([name, event, schema !== undefined && isValid(schema, data)]).toEqual([name, event, true]);
      }
      listened.leave();
    }
  });

  verifies("O-6.3", "is described by a document that a public validator passes", async () => {
    const { ask } = await openInterface();
    const { json } = await ask("GET", "/openapi.json");
    const { valid, errors } = await new Validator().validate(json);
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });
});

describe("the seed's examples", () => {
  verifies(["O-5.2/request", "O-5.6"], "are answered as they stand", async () => {
    const { ask, ended } = await openInterface();
    const example = { agent_id: "agent_default", message: "Summarize repository status", thinking_mode: "always" };
    const created = await ask("POST", "/v1/runs", example);
    expect(created).toMatchObject({ status: 202, json: { id: expect.any(String), status: "queued" } });
    expect(await ended(created.json.id)).toMatchObject({
      ...{ id: created.json.id, agent_id: "main", source: "http", status: "completed", output: "That was it." },
      ...{ artifact_path: expect.stringMatching(/\/agents\/main\/runs\/run_\w+$/), duration_ms: expect.any(Number) },
      ...{
        tool_calls: 0,
        provider: "loop",
        model: "m",
        thinking_mode: "always",
        trace: { tool_execution_results: [] },
      },
    });
    const listed = await ask("GET", "/v1/runs?status=completed&limit=50&offset=0");
    expect(listed.json).toMatchObject({ runs: [{ id: created.json.id }], total: 1, limit: 50, offset: 0 });
    const chat = {
      user_id: "123456",
      room_id: "dev-room",
      agent_id: "agent_default",
      message: "Summarize today updates",
    };
    const queued = await ask("POST", "/v1/chat/messages", { ...chat, thinking_mode: "on_error" });
    expect(queued).toMatchObject({
      status: 202,
      json: { id: expect.any(String), status: "queued", session_id: expect.any(String) },
    });
    const command = await ask("POST", "/v1/chat/messages", { ...chat, message: "/new" });
    expect(command).toMatchObject({
      status: 200,
      json: { response: expect.any(String), session_id: expect.any(String) },
    });
    const wrong = await ask("POST", "/v1/runs", { ...example, thinking_mode: "sometimes" });
    expect(wrong).toMatchObject({ status: 400, json: { error: { code: "invalid.request" } } });
  });
});
