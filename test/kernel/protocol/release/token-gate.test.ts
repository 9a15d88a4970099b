import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type GateInput, tokenGate } from "../../../../src/kernel/protocol/release/token-gate.ts";
import { verifies } from "../../../requirements.ts";
import { outputs, pass } from "./every-cut.ts";

const OPEN = { kind: "open" } as const;
const inputs = fc.array(fc.oneof(fc.string({ maxLength: 5 }), fc.constant<GateInput>(OPEN)), { maxLength: 12 });
const textOf = (list: readonly GateInput[]): string => list.filter((input) => typeof input === "string").join("");

describe("tokenGate", () => {
  verifies("M-F", "a closed gate releases nothing of what was said before a call was validated, then or later", () => {
    fc.assert(
      fc.property(inputs, (list) => {
        const opened = list.findIndex((input) => typeof input !== "string");
        const after = opened === -1 ? [] : list.slice(opened);
        expect(pass(tokenGate("closed"), list)).toBe(textOf(after));
      }),
    );
  });

  test("an open gate lets everything through", () => {
    fc.assert(
      fc.property(inputs, (list) => {
        expect(pass(tokenGate("open"), list)).toBe(textOf(list));
      }),
    );
  });

  test("nothing is held back: each chunk is decided at once", () => {
    expect(outputs(tokenGate("closed"), ["a", OPEN, "b", OPEN, "c"])).toEqual(["", "", "b", "", "c", ""]);
  });
});
