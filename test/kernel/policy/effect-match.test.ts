import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { provenEffects } from "../../../src/kernel/policy/effect-match.ts";

const parse = (text: string): Record<string, unknown> => JSON.parse(text);
const call = { tool: "mail.send", args: { to: ["a@b.test"], subject: "Hi", options: { html: false, cc: null } } };

describe("provenEffects", () => {
  test("gives the index of every effect the call would prove, in order", () => {
    const required = [
      { tool: "mail.send" },
      { tool: "fs.write_text" },
      { tool: "mail.*", args: { subject: "Hi" } },
      { tool: "mail.send", args: { subject: "Ho" } },
      { tool: "*", args: {} },
    ];
    expect(provenEffects(required, call)).toEqual([0, 2, 4]);
    expect(provenEffects([], call)).toEqual([]);
  });

  test.each([
    ["one of the arguments", { subject: "Hi" }, true],
    ["all of the arguments", { subject: "Hi", to: ["a@b.test"], options: { cc: null, html: false } }, true],
    ["another value", { subject: "hi" }, false],
    ["one right and one wrong", { subject: "Hi", to: ["x@b.test"] }, false],
    ["an argument the call lacks", { bcc: [] }, false],
    ["an argument the call lacks, as undefined", { bcc: undefined }, false],
    ["part of a nested object", { options: { html: false } }, false],
    ["more than a nested object", { options: { html: false, cc: null, x: 1 } }, false],
    ["part of a list", { to: [] }, false],
    ["a star, which is no wildcard", { subject: "*" }, false],
    ["an inherited argument", { toString: Object.prototype.toString }, false],
  ])("arguments are equal or the effect is not proven: %s", (_what, args, proven) => {
    expect(provenEffects([{ tool: "mail.send", args }], call)).toEqual(proven ? [0] : []);
  });

  test("an argument named __proto__ must be there itself", () => {
    const required = [{ tool: "mail.send", args: parse('{"__proto__":{}}') }];
    expect(provenEffects(required, call)).toEqual([]);
    expect(provenEffects(required, { tool: "mail.send", args: parse('{"__proto__":{}}') })).toEqual([0]);
  });

  test("right arguments on another tool prove nothing", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
        expect(provenEffects([{ tool: "mail.send", args }], { tool: "mail.draft", args })).toEqual([]);
        expect(provenEffects([{ tool: "mail.send", args }], { tool: "mail.send", args })).toEqual([0]);
      }),
    );
  });

  test("dropping a predicate never unproves an effect", () => {
    const anyArgs = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom(1, 2, "1", [1], { x: 1 }));
    fc.assert(
      fc.property(anyArgs, anyArgs, fc.constantFrom("a", "b", "c"), (expected, args, dropped) => {
        const { [dropped]: _gone, ...fewer } = expected;
        const before = provenEffects([{ tool: "*", args: expected }], { tool: "t", args });
        const after = provenEffects([{ tool: "*", args: fewer }], { tool: "t", args });
        expect(after.length).toBeGreaterThanOrEqual(before.length);
      }),
    );
  });
});
