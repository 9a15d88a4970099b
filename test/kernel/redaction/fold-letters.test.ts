import { describe, expect, test } from "vitest";
import { foldLetters } from "../../../src/kernel/redaction/fold-letters.ts";

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
