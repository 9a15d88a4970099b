import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compose } from "../../../../src/kernel/protocol/release/compose.ts";
import { markerStripper } from "../../../../src/kernel/protocol/release/marker-stripper.ts";
import { tokenGate } from "../../../../src/kernel/protocol/release/token-gate.ts";
import { utf8Decoder } from "../../../../src/kernel/protocol/release/utf8-decoder.ts";
import { scanBlocks } from "../../../../src/kernel/protocol/scan-blocks.ts";
import type { Transducer } from "../../../../src/kernel/vocabulary/transducer.ts";
import { verifies } from "../../../requirements.ts";
import { markedText } from "../raw-output.ts";
import { cutAt, pass } from "./every-cut.ts";

/** Releases each unit only when the next has come, and says at the end that it was the end. */
const delay: Transducer<string, string, string> = {
  start: () => "",
  push: (held, chunk) => {
    const text = held + chunk;
    return [text.slice(-1), text.slice(0, -1)];
  },
  finish: (held) => `${held}$`,
};

describe("compose", () => {
  verifies("S-3.1", "bytes cut anywhere come out as the visible text", () => {
    const stage = compose(utf8Decoder, markerStripper);
    fc.assert(
      fc.property(markedText, fc.array(fc.nat(400), { maxLength: 12 }), (content, cuts) => {
        const bytes = new TextEncoder().encode(content);
        expect(pass(stage, cutAt(bytes, cuts))).toBe(scanBlocks(content.toWellFormed()).visibleText);
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
    const left = compose(compose(utf8Decoder, markerStripper), delay);
    const right = compose(utf8Decoder, compose(markerStripper, delay));
    fc.assert(
      fc.property(markedText, fc.array(fc.nat(200), { maxLength: 5 }), (content, cuts) => {
        const chunks = cutAt(new TextEncoder().encode(content), cuts);
        expect(pass(left, chunks)).toBe(pass(right, chunks));
      }),
    );
  });

  test("a closed gate behind the stripper stays silent to the end", () => {
    expect(pass(compose(markerStripper, tokenGate("closed")), ["all done <<", "<"])).toBe("");
    expect(pass(compose(markerStripper, tokenGate("open")), ["all done <<", "<"])).toBe("all done <<<");
  });
});
