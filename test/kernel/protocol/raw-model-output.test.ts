import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashRawOutput, isCut, type RawModelOutput } from "../../../src/kernel/protocol/raw-model-output.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../requirements.ts";
import { rawCall, rawOutput } from "./raw-output.ts";

test("an answer without a stop reason is cut unless the provider said that it was done", () => {
  for (const stopReason of ["", " \t"]) {
    expect(isCut(rawOutput({ stopReason, complete: true }))).toBe(false);
    expect(isCut(rawOutput({ stopReason, complete: false }))).toBe(true);
  }
});

describe("hashRawOutput", () => {
  verifies("M-P2a", "two outputs that differ anywhere have different hashes", () => {
    const variants: Partial<RawModelOutput>[] = [
      {},
      { content: "a" },
      { content: "é" },
      { content: "e\u0301" },
      { content: "\uD800" },
      { content: "\uD801" },
      { content: "\uFFFD" },
      { content: "\\ud800" },
      { stopReason: "length" },
      { model: "other" },
      { complete: false },
      { toolCalls: [rawCall()] },
      { toolCalls: [rawCall(), rawCall()] },
      { toolCalls: [rawCall({ id: null })] },
      { toolCalls: [rawCall({ id: "" })] },
      { toolCalls: [rawCall({ id: "\uD800" })] },
      { toolCalls: [rawCall({ name: "x" })] },
      { toolCalls: [rawCall({ argumentsText: "{}" })] },
      { toolCalls: [rawCall({ argumentsText: "{ }" })] },
    ];
    const hashes = variants.map((variant) => hashRawOutput(rawOutput(variant)));
    expect(new Set(hashes).size).toBe(variants.length);
  });

  test("it is the canonical hash of the output's own fields, in any order and without others", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (content, model) => {
        const raw = rawOutput({ content, model, toolCalls: [rawCall()] });
        const extended = {
          extra: 1,
          ...Object.fromEntries(Object.entries(raw).reverse()),
        } as unknown as RawModelOutput;
        expect(hashRawOutput(raw)).toBe(hashCanonical(raw));
        expect(hashRawOutput(extended)).toBe(hashRawOutput(raw));
      }),
    );
  });
});
