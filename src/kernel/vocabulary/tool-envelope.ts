/**
 * The tool boundary (O-1): request and response envelopes and the one error shape. A failure's empty output (the seed
 * allows it) is dropped, so that inside there is one way to say "none". A problem names a field of the envelope, never
 * the tool's own keys or values: it may go into a journal.
 */

import { type Static, Type } from "typebox";
import { schemaCheck } from "#schema-check";
import { ERROR_CODES } from "./error-code.ts";

export const DEFAULT_TOOL_TIMEOUT_MS = 30_000;
export const MAX_TOOL_TIMEOUT_MS = 600_000;

export const ToolErrorSchema = Type.Object(
  {
    code: Type.Enum([...ERROR_CODES]),
    message: Type.String({ minLength: 1 }),
    retryable: Type.Boolean(),
    details: Type.Record(Type.String(), Type.Unknown()),
  },
  { additionalProperties: false },
);
export type ToolError = Static<typeof ToolErrorSchema>;

export const ToolRequestSchema = Type.Object(
  {
    requestId: Type.String({ minLength: 1 }),
    runId: Type.String({ minLength: 1 }),
    agentId: Type.String({ minLength: 1 }),
    tool: Type.String({ minLength: 1 }),
    input: Type.Record(Type.String(), Type.Unknown()),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1, default: DEFAULT_TOOL_TIMEOUT_MS })),
    createdAt: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

const responseFields = {
  requestId: Type.String({ minLength: 1 }),
  runId: Type.String({ minLength: 1 }),
  tool: Type.String({ minLength: 1 }),
  durationMs: Type.Number({ minimum: 0 }),
  finishedAt: Type.String(),
};
const SuccessSchema = Type.Object(
  { ...responseFields, ok: Type.Literal(true), output: Type.Unknown(), error: Type.Null() },
  { additionalProperties: false },
);
/** `never`, because our code never writes it. */
const EmptySchema = Type.Unsafe<never>({
  type: ["object", "array", "string", "null"],
  maxProperties: 0,
  maxItems: 0,
  maxLength: 0,
});
const FailureSchema = Type.Object(
  { ...responseFields, ok: Type.Literal(false), output: Type.Optional(EmptySchema), error: ToolErrorSchema },
  { additionalProperties: false },
);
export const ToolResponseSchema = Type.Union([SuccessSchema, FailureSchema]);
export type ToolResponse = Static<typeof ToolResponseSchema>;

// One check each, so that a problem speaks of the envelope which `ok` announced.
const successCheck = schemaCheck(SuccessSchema);
const failureCheck = schemaCheck(FailureSchema);

export function parseToolResponse(
  candidate: unknown,
): { readonly ok: true; readonly response: ToolResponse } | { readonly ok: false; readonly problem: string } {
  if (successCheck.accepts(candidate)) return { ok: true, response: candidate };
  if (failureCheck.accepts(candidate)) {
    const { output: _empty, ...response } = candidate;
    return { ok: true, response };
  }
  return { ok: false, problem: describeProblem(candidate) };
}

function describeProblem(candidate: unknown): string {
  const errors = claimsFailure(candidate) ? failureCheck.problems(candidate) : successCheck.problems(candidate);
  // For a key that should not be there, TypeBox first names the key (keyword "boolean"), then the object around it.
  const error = errors.find(({ keyword }) => keyword !== "boolean");
  return error === undefined ? "/ must be a tool response" : `${error.instancePath || "/"} ${error.message}`;
}

function claimsFailure(candidate: unknown): boolean {
  return typeof candidate === "object" && candidate !== null && "ok" in candidate && candidate.ok === false;
}
