/**
 * The tool boundary (O-1): request and response envelopes and the one error shape.
 *
 * E1. ok=true has error=null; ok=false has error.code and error.message and no output (O-1.2).
 * E2. `parseToolResponse` takes `unknown`: a tool's answer is foreign until it has passed.
 */
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { ERROR_CODES } from "./error-code.ts";

export const DEFAULT_TOOL_TIMEOUT_MS = 30_000;

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
    timeoutMs: Type.Integer({ minimum: 1 }),
    createdAt: Type.String(),
  },
  { additionalProperties: false },
);
export type ToolRequest = Static<typeof ToolRequestSchema>;

const responseFields = {
  requestId: Type.String({ minLength: 1 }),
  runId: Type.String({ minLength: 1 }),
  tool: Type.String({ minLength: 1 }),
  durationMs: Type.Number({ minimum: 0 }),
  finishedAt: Type.String(),
};
export const ToolResponseSchema = Type.Union([
  Type.Object(
    { ...responseFields, ok: Type.Literal(true), output: Type.Unknown(), error: Type.Null() },
    { additionalProperties: false },
  ),
  Type.Object({ ...responseFields, ok: Type.Literal(false), error: ToolErrorSchema }, { additionalProperties: false }),
]);
export type ToolResponse = Static<typeof ToolResponseSchema>;

const responseCheck = Compile(ToolResponseSchema);

export function parseToolResponse(
  candidate: unknown,
): { readonly ok: true; readonly response: ToolResponse } | { readonly ok: false; readonly problem: string } {
  if (responseCheck.Check(candidate)) return { ok: true, response: candidate };
  const [first] = responseCheck.Errors(candidate);
  return { ok: false, problem: first === undefined ? "not an envelope" : `${first.instancePath || "/"} ${first.message}` };
}
