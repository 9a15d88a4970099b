import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseEnvFile } from "../../src/boot/environment.ts";

const KEY = "sk-live-0123456789abcdef";

describe("the grammar of .env", () => {
  test.each([
    ["", {}],
    ["# a comment\n\n  \t\n", {}],
    ["A=1", { A: "1" }],
    ["\uFEFFA=1\r\nB=2\r\n", { A: "1", B: "2" }],
    ["  export A = 1  ", { A: "1" }],
    ["A=", { A: "" }],
    ["A=#", { A: "" }],
    ["A=x#y", { A: "x#y" }],
    ["A=x #y", { A: "x" }],
    ["A='x #y' # z", { A: "x #y" }],
    ['A="x #y" # z', { A: "x #y" }],
    ['A="a\\nb\\t\\"c\\"\\\\"', { A: 'a\nb\t"c"\\' }],
    ['A="\\d"', { A: "\\d" }],
    ["A='a\\n$B'", { A: "a\\n$B" }],
    ["A=$B", { A: "$B" }],
    ["A=b=c==", { A: "b=c==" }],
    ["__proto__=1", JSON.parse('{"__proto__":"1"}')],
  ])("%j", (text, expected) => {
    const verdict = parseEnvFile(text);
    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.ok && Object.fromEntries(verdict.variables)).toEqual(expected);
  });

  test.each([
    [`A=1\n${KEY}`, 2],
    [`A=1\nB ${KEY}`, 2],
    [`9A=${KEY}`, 1],
    [`A-B=${KEY}`, 1],
    [`A="${KEY}`, 1],
    [`A='${KEY}`, 1],
    [`A="x"${KEY}`, 1],
    [`A='x' ${KEY}`, 1],
    [`A="${KEY}\\"`, 1],
    [`A=${KEY}\nB=1\nA=${KEY}2`, 3],
    [`\n\nA=${KEY}\0`, 3],
  ])("%j is refused, without being shown", (text, line) => {
    const verdict = parseEnvFile(text);
    expect(verdict).toMatchObject({ ok: false, line });
    expect(JSON.stringify(verdict)).not.toContain(KEY);
  });

  test("what is written in single quotes is read as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (value) => {
        fc.pre(!/['\n\r\0]/.test(value));
        const verdict = parseEnvFile(`NAME='${value}'`);
        expect(verdict.ok && verdict.variables.get("NAME")).toBe(value);
      }),
    );
  });
});
