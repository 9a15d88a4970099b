/**
 * Canonical messages (M-4.3) and tool invocations (M-4.4): the only shapes the runtime acts on (M-A).
 * `protocol/` turns a provider's output into one of these, or into a named refusal.
 */
import { type Static, Type } from "typebox";
import { CALL_ID_PATTERN } from "./schema-primitives.ts";

export const ToolInvocationSchema = Type.Object(
  {
    id: Type.String({ pattern: CALL_ID_PATTERN }),
    name: Type.String({ minLength: 1, maxLength: 256 }),
    arguments: Type.Record(Type.String(), Type.Unknown()),
    sourceModel: Type.String(),
    rawPayload: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  },
  { additionalProperties: false },
);
export type ToolInvocation = Static<typeof ToolInvocationSchema>;

export const AgentMessageSchema = Type.Object(
  {
    role: Type.Enum(["system", "user", "assistant", "tool"]),
    content: Type.String(),
    toolCalls: Type.Array(ToolInvocationSchema),
  },
  { additionalProperties: false },
);
export type AgentMessage = Static<typeof AgentMessageSchema>;
