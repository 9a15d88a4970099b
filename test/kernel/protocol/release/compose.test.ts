import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compose } from "../../../../src/kernel/protocol/release/compose.ts";
import { markerStripper } from "../../../../src/kernel/protocol/release/marker-stripper.ts";
import { scanBlocks } from "../../../../src/kernel/protocol/scan-blocks.ts";
import type { Transducer } from "../../../../src/kernel/vocabulary/transducer.ts";
import { verifies } from "../../../requirements.ts";
import { markedText } from "../raw-output.ts";
import { cutAt, decoded, pass } from "./every-cut.ts";

/** Releases each unit only when the next has come, and says at the end that it was the end. */
const delay: Transducer<string, string, string> = {
  start: () => "",
  push: (held, chunk) => {
    const text = held + chunk;
    return [text.slice(-1), text.slice(0, -1)];
  },
  finish: (held) => `${held}$`,
};

/** Passes everything on. */
const plain: Transducer<string, string, null> = {
  start: () => null,
  push: (state, chunk) => [state, chunk],
  finish: () => "",
};

describe("compose", () => {
  verifies("S-3.1", "bytes cut anywhere come out as the visible text", () => {
    const stage = compose(plain, markerStripper);
    fc.assert(
      fc.property(markedText, fc.array(fc.nat(400), { maxLength: 12 }), (content, cuts) => {
        const bytes = new TextEncoder().encode(content);
        expect(pass(stage, decoded(cutAt(bytes, cuts)))).toBe(scanBlocks(content.toWellFormed()).visibleText);
      }),
      { numRuns: 2000 },
    );
  });

  test("what the first stage held back still passes the second, and then the second is finished", () => {
    expect(pass(compose(delay, delay), ["a", "b"])).toBe("ab$$");
    expect(pass(compose(delay, markerStripper), ["a<", "<"])).toBe("a<<$");
    expect(pass(compose(delay, delay), [])).toBe("$$");
  });

  test("composition is associative", () => {
    const left = compose(compose(plain, markerStripper), delay);
    const right = compose(plain, compose(markerStripper, delay));
    fc.assert(
      fc.property(markedText, fc.array(fc.nat(200), { maxLength: 5 }), (content, cuts) => {
        const chunks = cutAt(content, cuts);
        expect(pass(left, chunks)).toBe(pass(right, chunks));
      }),
    );
  });
});
