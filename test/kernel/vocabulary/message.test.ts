import { Compile } from "typebox/compile";
import { expect } from "vitest";
import { AgentMessageSchema, ToolInvocationSchema } from "../../../src/kernel/vocabulary/message.ts";
import { parseJson } from "../../../src/kernel/vocabulary/parse-json.ts";
import { toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import adversarial from "../../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../../requirements.ts";

const isInvocation = Compile(ToolInvocationSchema);
const isMessage = Compile(AgentMessageSchema);
const invocation = {
  id: "call_1",
  name: "fs.read_text",
  arguments: { path: "a.txt" },
  sourceModel: "builtin:demo",
  rawPayload: null,
};
const message = { role: "assistant", content: "", toolCalls: [invocation] };

verifies("M-4.4/schema", "a tool invocation has the seed's five fields, each of its kind, and no other", () => {
  expect(isInvocation.Check(invocation)).toBe(true);
  expect(isInvocation.Check({ ...invocation, rawPayload: { any: ["thing"] } })).toBe(true);
  expect(Object.keys(toWire(invocation))).toEqual(["id", "name", "arguments", "source_model", "raw_payload"]);
  for (const key of Object.keys(invocation)) {
    const { [key as keyof typeof invocation]: _left, ...rest } = invocation;
    expect(isInvocation.Check(rest), key).toBe(false);
    expect(isInvocation.Check({ ...invocation, [key]: 1 }), key).toBe(false);
  }
  expect(isInvocation.Check({ ...invocation, id: "" })).toBe(false);
  expect(isInvocation.Check({ ...invocation, name: "" })).toBe(false);
  expect(isInvocation.Check({ ...invocation, id: "x".repeat(64), name: "x".repeat(256) })).toBe(true);
  for (const id of ["x".repeat(129), "a b", "a/b", "a\n"]) {
    expect(isInvocation.Check({ ...invocation, id }), id).toBe(false);
  }
  expect(isInvocation.Check({ ...invocation, name: "x".repeat(257) })).toBe(false);
  expect(isInvocation.Check({ ...invocation, arguments: null })).toBe(false);
  expect(isInvocation.Check({ ...invocation, arguments: "{}" })).toBe(false);
  expect(isInvocation.Check({ ...invocation, type: "function" })).toBe(false);
});

verifies("M-4.4", "an id that is an object with a toString of its own is no id", () => {
  const [input] = adversarial.filter(({ name }) => name === "toString_override").map((entry) => entry.input);
  const parsed = parseJson((input as { readonly json: string }).json);
  const { id } = (parsed.ok ? parsed.value : {}) as { readonly id?: unknown };
  expect(id).toEqual({ toString: "x" });
  expect(isInvocation.Check({ ...invocation, id })).toBe(false);
});

verifies(["M-4.3/schema", "S-1.3"], "a message has a role of four, content and tool calls, and nothing else", () => {
  for (const role of ["system", "user", "assistant", "tool"]) expect(isMessage.Check({ ...message, role })).toBe(true);
  expect(Object.keys(toWire(message))).toEqual(["role", "content", "tool_calls"]);
  expect(isMessage.Check({ ...message, role: "developer" })).toBe(false);
  expect(isMessage.Check({ ...message, content: null })).toBe(false);
  expect(isMessage.Check({ ...message, content: [{ type: "text", text: "" }] })).toBe(false);
  expect(isMessage.Check({ ...message, toolCalls: [{ ...invocation, id: "" }] })).toBe(false);
  expect(isMessage.Check({ role: "user", content: "" })).toBe(false);
  expect(isMessage.Check({ ...message, refusal: null })).toBe(false);
});
