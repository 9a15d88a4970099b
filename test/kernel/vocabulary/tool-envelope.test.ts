import { Compile } from "typebox/compile";
import { describe, expect, expectTypeOf, test } from "vitest";
import { ERROR_CODES, type ErrorCode } from "../../../src/kernel/vocabulary/error-code.ts";
import {
  DEFAULT_TOOL_TIMEOUT_MS,
  parseToolResponse,
  type ToolError,
  ToolRequestSchema,
  type ToolResponse,
  ToolResponseSchema,
} from "../../../src/kernel/vocabulary/tool-envelope.ts";
import { toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { verifies } from "../../requirements.ts";

const fields = {
  requestId: "req_123",
  runId: "run_123",
  tool: "fs.read",
  durationMs: 14,
  finishedAt: "2026-02-15T00:00:00Z",
};
const success = { ...fields, ok: true, output: {}, error: null } as const;
const error = {
  code: "policy.denied",
  message: "write outside workspace",
  retryable: false,
  details: { path: "../etc/passwd" },
} as const;
const failure = { ...fields, ok: false, error } as const;

const problemOf = (candidate: unknown): string => {
  const parsed = parseToolResponse(candidate);
  return parsed.ok ? "none" : parsed.problem;
};
const without = (object: object, key: string) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));

describe("the response envelope", () => {
  verifies("O-1.2", "the seed's envelope is accepted, whatever the output is", () => {
    for (const output of [{}, { text: "a" }, [], "", "a", 0, false, null]) {
      expect(parseToolResponse({ ...success, output })).toEqual({ ok: true, response: { ...success, output } });
    }
    const wireKeys = ["request_id", "run_id", "tool", "duration_ms", "finished_at", "ok", "output", "error"];
    expect(Object.keys(toWire(success))).toEqual(wireKeys);
  });

  verifies("O-1.2/success", "ok=true needs error=null", () => {
    expect(problemOf({ ...success, error })).toBe("/error must be null");
    expect(problemOf({ ...success, error: {} })).toBe("/error must be null");
    expect(problemOf({ ...success, error: undefined })).toBe("/error must be null");
    expect(problemOf(without(success, "error"))).toBe("/ must have required properties error");
  });

  verifies("O-1.2/failure", "ok=false needs error.code and error.message", () => {
    expect(parseToolResponse(failure)).toEqual({ ok: true, response: failure });
    expect(problemOf({ ...failure, error: null })).toBe("/error must be object");
    expect(problemOf(without(failure, "error"))).toBe("/ must have required properties error");
    expect(problemOf({ ...failure, error: without(error, "code") })).toBe("/error must have required properties code");
    expect(problemOf({ ...failure, error: without(error, "message") })).toBe(
      "/error must have required properties message",
    );
    expect(problemOf({ ...failure, error: { ...error, message: "" } })).toBe(
      "/error/message must not have fewer than 1 characters",
    );
  });

  verifies("O-1.2/output", "ok=false has no output: an empty one is dropped, any other refused", () => {
    for (const output of [{}, [], "", null]) {
      const parsed = parseToolResponse({ ...failure, output });
      expect(parsed).toEqual({ ok: true, response: failure });
      expect(parsed.ok && "output" in parsed.response).toBe(false);
    }
    expect(problemOf({ ...failure, output: { secret: 1 } })).toBe("/output must not have more than 0 properties");
    expect(problemOf({ ...failure, output: ["secret"] })).toBe("/output must not have more than 0 items");
    expect(problemOf({ ...failure, output: "secret" })).toBe("/output must not have more than 0 characters");
    expect(problemOf({ ...failure, output: 0 })).toBe("/output must be either object or array or string or null");
    expect(problemOf({ ...failure, output: false })).toBe("/output must be either object or array or string or null");
  });

  test.each(["requestId", "runId", "tool", "durationMs", "finishedAt", "ok"])("needs %s", (key) => {
    expect(problemOf(without(success, key))).toBe(`/ must have required properties ${key}`);
    expect(problemOf({ ...success, [key]: null })).toMatch(new RegExp(`^/${key} must be `));
    expect(parseToolResponse(without(failure, key)).ok).toBe(false);
  });

  test("needs an output when ok=true, and no empty names or impossible durations", () => {
    expect(problemOf(without(success, "output"))).toBe("/ must have required properties output");
    for (const key of ["requestId", "runId", "tool"]) {
      expect(problemOf({ ...success, [key]: "" })).toBe(`/${key} must not have fewer than 1 characters`);
    }
    expect(problemOf({ ...success, durationMs: 0 })).toBe("none");
    expect(problemOf({ ...success, durationMs: -1 })).toBe("/durationMs must be >= 0");
    expect(problemOf({ ...success, durationMs: Number.POSITIVE_INFINITY })).toBe("/durationMs must be number");
  });

  test.each([null, undefined, 5, "ok", true, [success]])("%j is no envelope", (candidate) => {
    expect(problemOf(candidate)).toBe("/ must be object");
  });

  test("a problem never quotes a key of the tool's own", () => {
    expect(problemOf({ ...success, "sk-secret": 1 })).toBe("/ must not have additional properties");
    expect(problemOf({ ...failure, "sk-secret": 1 })).toBe("/ must not have additional properties");
    expect(problemOf({ ...failure, error: { ...error, "sk-secret": 1 } })).toBe(
      "/error must not have additional properties",
    );
  });

  test("an answer that changes while it is looked at is refused too", () => {
    const durations = [-1, -1, 1, 1, 1, 1, 1];
    const shifty = {
      ...success,
      get durationMs() {
        return durations.shift();
      },
    };
    expect(problemOf(shifty)).toBe("/ must be a tool response");
  });

  test("the published schema says the same as the parser", () => {
    const published = Compile(ToolResponseSchema);
    const candidates = [success, failure, { ...failure, output: {} }, { ...failure, output: 1 }, { ...success, error }];
    for (const candidate of [...candidates, without(success, "tool"), null]) {
      expect(published.Check(candidate)).toBe(parseToolResponse(candidate).ok);
    }
  });
});

describe("the error shape", () => {
  verifies("O-1.3/codes", "the canonical codes are accepted and no other", () => {
    expect(ERROR_CODES).toEqual([
      "invalid.request",
      "tool.not_found",
      "tool.input_invalid",
      "policy.denied",
      "sandbox.required",
      "timeout",
      "internal.error",
    ]);
    for (const code of ERROR_CODES) expect(problemOf({ ...failure, error: { ...error, code } })).toBe("none");
    for (const code of ["queue.full", "policy.denied ", "POLICY.DENIED", "", null, 1]) {
      expect(problemOf({ ...failure, error: { ...error, code } })).toBe(
        "/error/code must be equal to one of the allowed values",
      );
    }
  });

  verifies("O-1.3/shape", "an error is {code, message, retryable, details} and nothing else", () => {
    for (const key of Object.keys(error)) {
      expect(problemOf({ ...failure, error: without(error, key) })).toBe(`/error must have required properties ${key}`);
      expect(problemOf({ ...failure, error: { ...error, [key]: 1 } })).toMatch(new RegExp(`^/error/${key} must be `));
    }
    expect(problemOf({ ...failure, error: { ...error, stack: "at …" } })).toBe(
      "/error must not have additional properties",
    );
  });

  test("its types are as narrow as its rules", () => {
    expectTypeOf<ToolError["code"]>().toEqualTypeOf<ErrorCode>();
    expectTypeOf<Extract<ToolResponse, { ok: true }>["error"]>().toEqualTypeOf<null>();
    expectTypeOf<Extract<ToolResponse, { ok: false }>["output"]>().toEqualTypeOf<undefined>();
  });
});

test("a request has the seed's five required fields; time-out and creation time may be left out", () => {
  const isRequest = Compile(ToolRequestSchema);
  const request = {
    requestId: "req_123",
    runId: "run_123",
    agentId: "agent_default",
    tool: "fs.read",
    input: {},
    timeoutMs: DEFAULT_TOOL_TIMEOUT_MS,
    createdAt: "2026-02-15T00:00:00Z",
  };
  expect(toWire(request)).toEqual({
    request_id: "req_123",
    run_id: "run_123",
    agent_id: "agent_default",
    tool: "fs.read",
    input: {},
    timeout_ms: 30000,
    created_at: "2026-02-15T00:00:00Z",
  });
  expect(isRequest.Check(request)).toBe(true);
  const optional = ["timeoutMs", "createdAt"];
  for (const key of Object.keys(request)) {
    expect(isRequest.Check(without(request, key)), key).toBe(optional.includes(key));
  }
  expect(ToolRequestSchema.properties.timeoutMs).toMatchObject({ default: 30_000 });
  expect(isRequest.Check({ ...request, createdAt: 1 })).toBe(false);
  for (const key of ["requestId", "runId", "agentId", "tool"]) {
    expect(isRequest.Check({ ...request, [key]: "" }), key).toBe(false);
  }
  expect(isRequest.Check({ ...request, timeoutMs: 1 })).toBe(true);
  expect(isRequest.Check({ ...request, timeoutMs: 0 })).toBe(false);
  expect(isRequest.Check({ ...request, timeoutMs: 1.5 })).toBe(false);
  expect(isRequest.Check({ ...request, input: null })).toBe(false);
  expect(isRequest.Check({ ...request, token: "x" })).toBe(false);
});
