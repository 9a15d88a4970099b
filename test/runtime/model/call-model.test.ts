import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import type { AgentMessage, ToolInvocation } from "../../../src/kernel/vocabulary/message.ts";
import { canonicalWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { messageText } from "../../../src/runtime/model/call-model.ts";
import { anyText } from "../../kernel/journal/any-record.ts";
import { anyCharacter, anyJson, reverseKeys } from "../../kernel/vocabulary/any-json.ts";

const anyString = fc.oneof(anyText, fc.string({ unit: anyCharacter, maxLength: 100 }));
const anyRecord = fc.dictionary(fc.oneof(anyText, fc.constantFrom("id", "arguments", "__proto__")), anyJson);
const anyCall: fc.Arbitrary<ToolInvocation> = fc.record({
  id: anyString,
  name: anyString,
  arguments: anyRecord,
  sourceModel: anyString,
  rawPayload: fc.option(anyRecord),
});
const anyMessage: fc.Arbitrary<AgentMessage> = fc.record({
  role: fc.constantFrom("system", "user", "assistant", "tool"),
  content: anyString,
  toolCalls: fc.array(anyCall, { maxLength: 3 }),
});

const written = ({ toolCalls }: AgentMessage): readonly string[] => {
  return toolCalls.map((call) => canonicalJson(call.arguments));
};

describe("messageText", () => {
  test("is the message's canonical JSON with the wire's names, in whatever order its keys were set", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(messageText(message, written(message))).toBe(canonicalWire(message));
        const reversed = reverseKeys(message) as AgentMessage;
        expect(messageText(reversed, written(reversed))).toBe(canonicalWire(message));
      }),
      { numRuns: 500 },
    );
  });

  test("a message with half a character is a defect, wherever it stands", () => {
    const half = "a\ud800";
    const call: ToolInvocation = { id: "c1", name: "t", arguments: {}, sourceModel: "m", rawPayload: null };
    const halves = [{ id: half }, { name: half }, { sourceModel: half }, { rawPayload: { a: half } }];
    const messages = halves.map((change) => ({ content: "", toolCalls: [{ ...call, ...change }] }));
    for (const message of [{ content: half, toolCalls: [] }, ...messages]) {
      expect(() => messageText({ role: "assistant", ...message }, ["{}"])).toThrow(Defect);
    }
  });
});
