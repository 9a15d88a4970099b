import fc from "fast-check";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { ADAPTER_VERSIONS, adapterFor } from "../../../src/kernel/protocol/adapter-for.ts";
import { markerJson } from "../../../src/kernel/protocol/marker-json.ts";
import { MARKERS, TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "../../../src/kernel/protocol/markers.ts";
import { nativeTools } from "../../../src/kernel/protocol/native-tools.ts";
import { PROTOCOL_FAILURES } from "../../../src/kernel/protocol/protocol-failure.ts";
import type { RawModelOutput } from "../../../src/kernel/protocol/raw-model-output.ts";
import { AgentMessageSchema } from "../../../src/kernel/vocabulary/message.ts";
import { verifies } from "../../requirements.ts";
import { callText, illFormedText, markedText, notesBlock, rawCall, rawOutput, toolBlock } from "./raw-output.ts";

/** What holds for every adapter; `native-tools.test.ts` and `marker-json.test.ts` have what is theirs alone. */
const adapters = [nativeTools, markerJson];
const message = Compile(AgentMessageSchema);
const RECOVERABLE = ["protocol.fenced-block", "protocol.missing-id", "protocol.invalid-id", "protocol.empty-arguments"];

const rawToolCall = fc.record({
  id: fc.option(fc.oneof(fc.constantFrom("c1", "c2", "call_1", ""), fc.string()), { nil: null }),
  name: fc.oneof(fc.constantFrom("fs__read_text", "fs.read_text", ""), fc.string()),
  argumentsText: fc.oneof(fc.constantFrom("{}", "", "[]", '{"a":1}', '{"a":'), fc.json(), fc.string()),
});
const block = fc.oneof(
  fc
    .array(fc.constantFrom("t1", "t2", "call_1"), { maxLength: 3 })
    .map((ids) => toolBlock(`[${ids.map((id) => callText(id))}]`)),
  fc.constantFrom(
    toolBlock("```json\n[]\n```"),
    toolBlock('[{"tool":"a","args":{}}]'),
    notesBlock("{}"),
    notesBlock("{"),
  ),
);
const anyRaw: fc.Arbitrary<RawModelOutput> = fc.record({
  content: fc.oneof(
    markedText,
    illFormedText,
    fc.tuple(fc.string(), block, fc.string()).map((parts) => parts.join("")),
  ),
  toolCalls: fc.oneof(fc.constant([]), fc.array(rawToolCall, { maxLength: 3 })),
  stopReason: fc.constantFrom("stop", "tool_calls", "length", "end_turn"),
  model: fc.constantFrom("m1", "m2"),
  complete: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});

describe("every adapter", () => {
  verifies("M-P2a/versions", "is found by its version, and an unknown version is null", () => {
    expect(ADAPTER_VERSIONS).toEqual([
      "native-tools@1",
      "marker-json@1",
      "native-tools@2",
      "marker-json@2",
      "grammar-json@1",
    ]);
    for (const version of ADAPTER_VERSIONS) expect(adapterFor(version)?.version).toBe(version);
    for (const unknown of ["native-tools", "native-tools@3", "marker-json@01", "", "__proto__", "toString"]) {
      expect(adapterFor(unknown)).toBeNull();
    }
  });

  verifies(["M-P2a/deterministic", "M-4.2/result"], "decides the same for the same input hash and names itself", () => {
    fc.assert(
      fc.property(fc.constantFrom(...adapters), anyRaw, (adapter, raw) => {
        const copy = structuredClone(raw);
        for (const mode of ["strict", "lenient"] as const) {
          const result = adapter.adapt(raw, mode);
          expect(adapter.adapt(copy, mode)).toEqual(result);
          expect(result.adapterVersion).toBe(adapter.version);
          expect(result.rawHash).toMatch(/^[0-9a-f]{64}$/);
        }
        expect(raw).toEqual(copy);
      }),
    );
  });

  verifies(
    ["M-4.2/result", "M-4.3", "M-4.4", "S-1.3"],
    "answers with a valid canonical message or with a known failure code",
    () => {
      fc.assert(
        fc.property(
          fc.constantFrom(...adapters),
          anyRaw,
          fc.constantFrom("strict", "lenient"),
          (adapter, raw, mode) => {
            const result = adapter.adapt(raw, mode as "strict" | "lenient");
            if (result.status === "rejected") {
              expect(PROTOCOL_FAILURES).toContain(result.failureCode);
              expect(result.canonicalMessage).toBeNull();
              expect(result.notes).toBeNull();
              return;
            }
            expect(message.Check(result.canonicalMessage)).toBe(true);
            expect(result.canonicalMessage.role).toBe("assistant");
            const ids = result.canonicalMessage.toolCalls.map((call) => call.id);
            expect(new Set(ids).size).toBe(ids.length);
            expect(ids.filter((id) => !/^[A-Za-z0-9_.:-]{1,128}$/.test(id))).toEqual([]);
            expect(result.canonicalMessage.toolCalls.every((call) => call.sourceModel === raw.model)).toBe(true);
            expect(MARKERS.some((marker) => result.canonicalMessage.content.includes(marker))).toBe(false);
          },
        ),
        { numRuns: 2000 },
      );
    },
  );

  verifies(
    ["M-4.2/strict", "M-4.2/lenient", "M-7.5/recovery"],
    "knows no recovery in strict mode, and lenient mode recovers nothing but named faults",
    () => {
      fc.assert(
        fc.property(fc.constantFrom(...adapters), anyRaw, (adapter, raw) => {
          const strict = adapter.adapt(raw, "strict");
          const lenient = adapter.adapt(raw, "lenient");
          expect(strict.status).not.toBe("recovered");
          if (lenient.status === "recovered") {
            expect(strict).toMatchObject({ status: "rejected", failureCode: lenient.failureCode });
            expect(RECOVERABLE).toContain(lenient.failureCode);
          } else if (strict.failureCode === lenient.failureCode) {
            expect(strict).toEqual(lenient);
          } else {
            // Past the first fault lenient mode met another one: both refuse, each by the fault it stopped at.
            expect([strict.status, lenient.status]).toEqual(["rejected", "rejected"]);
            expect(RECOVERABLE).toContain(strict.failureCode);
          }
        }),
        { numRuns: 2000 },
      );
    },
  );

  test("a recoverable fault around another one leads to the other one", () => {
    const fencedNothing = "<<<TOOL_CALLS_JSON>>>```json\n[]\n```<<<END_TOOL_CALLS_JSON>>>";
    const raw = { content: fencedNothing, toolCalls: [], stopReason: "stop", model: "m", complete: true };
    const codes = (["strict", "lenient"] as const).map(
      (mode) => adapterFor("marker-json@1")?.adapt(raw, mode).failureCode,
    );
    expect(codes).toEqual(["protocol.fenced-block", "protocol.empty"]);
  });

  describe.each(adapters)("$version", (adapter) => {
    const own = (fields: Partial<RawModelOutput> = {}): RawModelOutput =>
      adapter === nativeTools
        ? rawOutput({ toolCalls: [rawCall()], ...fields })
        : rawOutput({ content: toolBlock(`[${callText("t1")}]`), ...fields });
    const failure = (raw: RawModelOutput, mode: "strict" | "lenient" = "strict"): string | null =>
      adapter.adapt(raw, mode).failureCode;

    test("reads text without calls as it is", () => {
      expect(adapter.adapt(rawOutput({ content: " hi\n" }), "strict")).toEqual({
        status: "native",
        canonicalMessage: { role: "assistant", content: " hi\n", toolCalls: [] },
        failureCode: null,
        notes: null,
        rawHash: adapter.adapt(rawOutput({ content: " hi\n" }), "lenient").rawHash,
        adapterVersion: adapter.version,
      });
    });

    test.each(["", " ", "\t\r\n "])("rejects an answer of nothing but white space: %j", (content) => {
      expect(failure(rawOutput({ content }))).toBe("protocol.empty");
      expect(failure(rawOutput({ content }), "lenient")).toBe("protocol.empty");
    });

    test("takes an answer of nothing but calls, or nothing but notes", () => {
      expect(adapter.adapt(own(), "strict")).toMatchObject({ status: "native", canonicalMessage: { content: "" } });
      expect(adapter.adapt(rawOutput({ content: notesBlock("{}") }), "strict")).toMatchObject({
        status: "native",
        canonicalMessage: { content: "", toolCalls: [] },
        notes: { status: "parsed" },
      });
    });

    verifies(["S-2.1/hidden", "S-2.5"], "takes notes out of the text, readable or not", () => {
      const good = adapter.adapt(rawOutput({ content: `a${notesBlock('{"set_goals":["g"]}')}b` }), "strict");
      expect(good).toMatchObject({
        status: "native",
        canonicalMessage: { content: "ab" },
        notes: { status: "parsed" },
      });
      const bad = adapter.adapt(rawOutput({ content: `a${notesBlock("SECRET")}b` }), "strict");
      expect(bad).toMatchObject({
        status: "native",
        canonicalMessage: { content: "ab" },
        notes: { status: "malformed" },
      });
      expect(JSON.stringify(bad)).not.toContain("SECRET");
    });

    test("rejects calls on both channels at once", () => {
      for (const content of [toolBlock("[]"), `x${TOOL_CALLS_BEGIN}`, `x${TOOL_CALLS_END}`]) {
        expect(failure(rawOutput({ content, toolCalls: [rawCall()] }))).toBe("protocol.mixed-channels");
      }
    });

    test("rejects nested notes", () => {
      expect(failure(rawOutput({ content: notesBlock(notesBlock("{}")) }))).toBe("protocol.nested-block");
    });

    test.each([
      "length",
      "max_tokens",
      "MAX_TOKENS",
      "max_output_tokens",
      "model_length",
      "model_context_window_exceeded",
      "content_filter",
      "refusal",
      "incomplete",
      "error",
      "abort",
      "safety",
      "MAX_TOKENS ",
      "recitation",
      "insufficient_system_resource",
      "lengthy",
      "stop it",
      "null",
    ])("takes no call from an answer that ended with %s, but its text", (stopReason) => {
      for (const mode of ["strict", "lenient"] as const) {
        expect(failure(own({ stopReason }), mode)).toBe("protocol.truncated");
        expect(adapter.adapt(rawOutput({ content: "long", stopReason }), mode).status).toBe("native");
      }
    });

    test.each([
      "stop",
      "STOP",
      " stop\n",
      "end_turn",
      "stop_sequence",
      "tool_calls",
      "tool_call",
      "tool_use",
      "function_call",
      "eos",
      "eos_token",
      "complete",
      "completed",
      "",
      " ",
    ])("takes calls that ended with %j", (stopReason) => {
      expect(adapter.adapt(own({ stopReason }), "strict").status).toBe("native");
    });

    test("takes nothing at all from a stream that broke off", () => {
      expect(failure(own({ complete: false }), "lenient")).toBe("protocol.incomplete");
      expect(failure(rawOutput({ content: "text", complete: false }), "lenient")).toBe("protocol.incomplete");
    });

    test.each([
      ["content", { content: "a\uD800" }],
      ["stop reason", { stopReason: "\uDC00" }],
      ["model", { model: "\uD800" }],
      ["call id", { toolCalls: [rawCall({ id: "\uD800" })] }],
      ["call name", { toolCalls: [rawCall({ name: "\uD800" })] }],
      ["call arguments", { toolCalls: [rawCall({ argumentsText: '"\uD800"' })] }],
    ] satisfies [string, Partial<RawModelOutput>][])("rejects a lone surrogate in its %s", (_, fields) => {
      expect(failure(own(fields), "lenient")).toBe("protocol.ill-formed-text");
    });
  });
});
