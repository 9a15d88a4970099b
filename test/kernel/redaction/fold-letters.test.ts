import { describe, expect, test } from "vitest";
import { foldLetters } from "../../../src/kernel/redaction/fold-letters.ts";
import { SymbolCache } from "../../../src/kernel/redaction/symbol-cache.ts";

const folded = (text: string): string =>
  [...text].map((character) => String.fromCharCode(...foldLetters(character.codePointAt(0) as number))).join("");

describe("letters", () => {
  test.each([
    ["Größe: naïve FAÇADE, 3½ 😀", "großenaivefacade"],
    ["ＦＵＬＬ ｗｉｄｔｈ", "fullwidth"],
    ["𝐦𝐚𝐭𝐡", "math"],
    ["ﬁ ǆ Å", "fidza"],
    ["Ω é\u0301 \u0301", "ωe"],
    ["密码", "密码"],
    ["_-0 \ud83d\u200b", ""],
  ])("of %j are %j", (text, letters) => {
    expect(folded(text)).toBe(letters);
  });

  test("are the same however many others were folded in between", () => {
    const before = folded("éüß密Ω");
    for (let code = 0x80; code < 0x3000; code += 1) foldLetters(code);
    expect(folded("éüß密Ω")).toBe(before);
  });
});

describe("remembered symbols", () => {
  const symbolsOf = (code: number): readonly number[] =>
    Array.from({ length: code % 8 }, (_, at) => 1 + ((code + at) % 63));

  test("are those of the character, also when another had its place", () => {
    const cache = new SymbolCache(symbolsOf);
    for (const code of [0x80, 0x1080, 0x80, 0x81, 0x2081, 0x85, 0x86, 0x87, 0x10ffff, 0x85, 0x1085, 0x80]) {
      expect(cache.symbols(code)).toEqual(symbolsOf(code));
      expect(cache.symbols(code)).toEqual(symbolsOf(code));
    }
  });

  test("do without what is left out", () => {
    expect(new SymbolCache(() => [0, 63, 0, 1, 0]).symbols(0x80)).toEqual([63, 1]);
  });
});
