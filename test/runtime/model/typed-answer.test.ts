import { describe, expect, test } from "vitest";
import type { ProtocolAdapterResult } from "../../../src/kernel/protocol/protocol-adapter.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { readTypedAnswer } from "../../../src/runtime/model/typed-answer.ts";
import { contractOf } from "../../kernel/machine/scripted-run.ts";
import { verifies } from "../../requirements.ts";

const outputSchema = {
  type: "object",
  properties: { issues: { type: "array", items: { type: "string" } }, score: { type: "number" } },
  required: ["issues", "score"],
  additionalProperties: false,
};
const CONTRACT = contractOf({ outputSchema });
const CALL = { id: "call_1", name: "fs.list_dir", arguments: {}, rawPayload: null, sourceModel: "m" };

function said(content: string, calls: readonly (typeof CALL)[] = []): ProtocolAdapterResult {
  const canonicalMessage = { role: "assistant", content, toolCalls: [...calls] } as const;
  return {
    ...{ rawHash: hashBytes(content), adapterVersion: "native-tools@2", status: "native", failureCode: null },
    ...{ canonicalMessage: { ...canonicalMessage, toolCalls: [...calls] }, notes: null },
  };
}
const read = (content: string, clean = (text: string) => text) => readTypedAnswer(CONTRACT, said(content), clean);

describe("the answer of a run with an output schema", () => {
  test("that fulfils it is the answer, without the blanks around it", () => {
    const answer = '{"issues": ["none"], "score": 7}';
    expect(read(`\n${answer} `)).toMatchObject({ status: "native", canonicalMessage: { content: answer } });
  });

  test("in a code fence is recovered", () => {
    expect(read('```json\n{"issues": [], "score": 0}\n```\n')).toMatchObject({
      ...{ status: "recovered", failureCode: "protocol.fenced-block" },
      canonicalMessage: { content: '{"issues": [], "score": 0}' },
    });
  });

  test.each([
    ["text", "It is fine."],
    ["text before it", 'Here: {"issues": [], "score": 0}'],
    ["a missing field", '{"issues": []}'],
    ["a field too many", '{"issues": [], "score": 0, "more": 1}'],
    ["a wrong type", '{"issues": "none", "score": 0}'],
    ["a list", "[]"],
    ["a repeated key", '{"issues": [], "score": 0, "score": 1}'],
    ["nothing but a fence", "```json\n```"],
  ])("%s is rejected, and nothing of it is kept", (_, content) => {
    expect(read(content)).toEqual({
      ...{ rawHash: hashBytes(content), adapterVersion: "native-tools@2", status: "rejected" },
      ...{ canonicalMessage: null, failureCode: "protocol.output-schema", notes: null },
    });
  });

  verifies("T-3b/form", "is judged as it will be kept: what redaction breaks is no answer", () => {
    expect(read('{"issues": ["a"], "score": 0}', () => "I cannot show that.")).toMatchObject({ status: "rejected" });
  });

  test("is not a turn that calls tools, nor a run without a schema", () => {
    const calling = said("Let me look.", [CALL]);
    expect(readTypedAnswer(CONTRACT, calling, String)).toBe(calling);
    const chat = said("It is fine.");
    expect(readTypedAnswer(contractOf(), chat, String)).toBe(chat);
  });
});
