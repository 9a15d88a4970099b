import { describe, expect, test } from "vitest";
import { TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "../../../src/kernel/protocol/markers.ts";
import { nativeTools } from "../../../src/kernel/protocol/native-tools.ts";
import type { AdapterMode } from "../../../src/kernel/protocol/protocol-adapter.ts";
import type { RawToolCall } from "../../../src/kernel/protocol/raw-model-output.ts";
import { verifies } from "../../requirements.ts";
import { callText, notesBlock, rawCall, rawOutput, toolBlock } from "./raw-output.ts";

const adapt = (toolCalls: readonly RawToolCall[], mode: AdapterMode = "strict") =>
  nativeTools.adapt(rawOutput({ toolCalls }), mode);
const calls = (toolCalls: readonly RawToolCall[], mode: AdapterMode = "strict") =>
  adapt(toolCalls, mode).canonicalMessage?.toolCalls;

describe("native-tools", () => {
  verifies(["M-4.2", "M-4.4"], "makes invocations of the provider's calls, in order, with registered names", () => {
    const toolCalls = [
      rawCall({ id: "b", name: "fs__read_text", argumentsText: ' {"path": "a", "deep": {"x": [1]}} ' }),
      rawCall({ id: "a", name: "agent", argumentsText: "{}" }),
    ];
    expect(nativeTools.adapt(rawOutput({ content: "Reading.", toolCalls, model: "m" }), "strict")).toMatchObject({
      status: "native",
      failureCode: null,
      canonicalMessage: {
        content: "Reading.",
        toolCalls: [
          {
            id: "b",
            name: "fs.read_text",
            arguments: { path: "a", deep: { x: [1] } },
            sourceModel: "m",
            rawPayload: { id: "b", name: "fs__read_text" },
          },
          { id: "a", name: "agent", arguments: {}, sourceModel: "m", rawPayload: null },
        ],
      },
    });
  });

  test.each(["fs.read_text", "No Such Tool", "shell.exec\u0000", "fs___x", "__proto__", "x".repeat(256)])(
    "leaves %j as it is, for the registry to refuse",
    (name) => {
      expect(calls([rawCall({ name })])).toMatchObject([{ name, rawPayload: null }]);
    },
  );

  test.each([
    ["an array", { argumentsText: "[]" }, "protocol.invalid-arguments"],
    ["null", { argumentsText: "null" }, "protocol.invalid-arguments"],
    ["a string", { argumentsText: '"{}"' }, "protocol.invalid-arguments"],
    ["white space", { argumentsText: " " }, "protocol.invalid-json"],
    ["half an object", { argumentsText: '{"a":' }, "protocol.invalid-json"],
    ["a lone surrogate", { argumentsText: '{"a":"\\ud800"}' }, "protocol.invalid-json"],
    ["an integer too large", { argumentsText: '{"a":9007199254740993}' }, "protocol.invalid-json"],
    ["65 levels", { argumentsText: `{"a":${"[".repeat(64)}${"]".repeat(64)}}` }, "protocol.invalid-json"],
    ["duplicate keys", { argumentsText: '{"a":1,"a":2}' }, "protocol.duplicate-key"],
    ["duplicate keys, one escaped", { argumentsText: '{"a":1,"\\u0061":2}' }, "protocol.duplicate-key"],
    ["two objects", { argumentsText: "{}{}" }, "protocol.trailing-garbage"],
    ["no name", { name: "" }, "protocol.invalid-tool-name"],
    ["a name too long", { name: "x".repeat(257) }, "protocol.invalid-tool-name"],
  ] satisfies [string, Partial<RawToolCall>, string][])("rejects %s in both modes", (_, fields, failureCode) => {
    for (const mode of ["strict", "lenient"] as const) {
      expect(adapt([rawCall({ id: "ok" }), rawCall(fields)], mode)).toMatchObject({ status: "rejected", failureCode });
    }
  });

  test.each(["x", "-", "toolu_01A-b", "x".repeat(64)])("takes the id %j", (id) => {
    expect(calls([rawCall({ id })])).toMatchObject([{ id }]);
  });

  test.each(["x".repeat(129), "read the file", "the password is hunter2", "é", "a\n", "\u0000", " ", "a/b"])(
    "an id that could hold prose is rejected, or in lenient mode replaced and kept out of the entries: %j",
    (id) => {
      const toolCalls = [rawCall({ id: "call_1", name: "agent" }), rawCall({ id })];
      expect(adapt(toolCalls)).toMatchObject({ status: "rejected", failureCode: "protocol.invalid-id" });
      expect(adapt(toolCalls, "lenient")).toMatchObject({ status: "recovered", failureCode: "protocol.invalid-id" });
      expect(calls(toolCalls, "lenient")).toMatchObject([
        { id: "call_1", rawPayload: null },
        { id: "call_2", rawPayload: { id, name: "fs__read_text" } },
      ]);
    },
  );

  test("rejects two calls under one id, whatever else they say", () => {
    for (const mode of ["strict", "lenient"] as const) {
      for (const id of ["a", "not an id"]) {
        const toolCalls = [rawCall({ id }), rawCall({ id: "b" }), rawCall({ id, name: "x" })];
        expect(adapt(toolCalls, mode)).toMatchObject({ status: "rejected", failureCode: "protocol.duplicate-id" });
      }
    }
  });

  verifies("M-4.2", "recovers missing ids in lenient mode only: each gets the next free one", () => {
    const toolCalls = [
      rawCall({ id: null }),
      rawCall({ id: "call_2" }),
      rawCall({ id: "" }),
      rawCall({ id: "call_1", name: "agent" }),
      rawCall({ id: null, name: "agent" }),
    ];
    expect(adapt(toolCalls)).toMatchObject({ status: "rejected", failureCode: "protocol.missing-id" });
    expect(adapt(toolCalls, "lenient")).toMatchObject({ status: "recovered", failureCode: "protocol.missing-id" });
    expect(calls(toolCalls, "lenient")?.map(({ id, rawPayload }) => [id, rawPayload])).toEqual([
      ["call_3", { id: null, name: "fs__read_text" }],
      ["call_2", { id: "call_2", name: "fs__read_text" }],
      ["call_4", { id: "", name: "fs__read_text" }],
      ["call_1", null],
      ["call_5", { id: null, name: "agent" }],
    ]);
    expect(calls([rawCall({ id: null }), rawCall({ id: null })], "lenient")?.map(({ id }) => id)).toEqual([
      "call_1",
      "call_2",
    ]);
  });

  verifies("M-4.2", "recovers empty arguments in lenient mode only, as no arguments", () => {
    const toolCalls = [rawCall({ id: "a", argumentsText: "" }), rawCall({ id: null })];
    expect(adapt(toolCalls)).toMatchObject({ status: "rejected", failureCode: "protocol.empty-arguments" });
    expect(adapt(toolCalls, "lenient")).toMatchObject({ status: "recovered", failureCode: "protocol.empty-arguments" });
    expect(calls(toolCalls, "lenient")).toMatchObject([{ id: "a", arguments: {} }, { id: "call_1" }]);
  });

  verifies("M-4.2", "rejects a tool block in its text: never executed, never shown", () => {
    for (const content of [
      `a${toolBlock(`[${callText("t1")}]`)}b`,
      `a${TOOL_CALLS_BEGIN}`,
      `a${TOOL_CALLS_END}`,
      notesBlock(TOOL_CALLS_BEGIN),
    ]) {
      for (const mode of ["strict", "lenient"] as const) {
        expect(nativeTools.adapt(rawOutput({ content }), mode)).toMatchObject({
          status: "rejected",
          failureCode: "protocol.wrong-channel",
          canonicalMessage: null,
        });
      }
    }
  });
});
