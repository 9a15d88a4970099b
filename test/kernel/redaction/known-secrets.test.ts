/** What a loaded secret may hide behind: mixtures of escapes, and the encodings of other scripts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../requirements.ts";
import { asLatin1, base64, ESCAPES_OF_ONE, hex, redactorFor, utf8Bytes, utf16Bytes } from "./disguises.ts";

describe("a loaded secret", () => {
  test.each([
    ["97dsSnfZL", "%97\\u0064sSnfZL", "[REDACTED:N]"],
    ["97dsSnfZL", "%2597&#100;sSnfZL", "[REDACTED:N]"],
    ["deadbeef1234", "50%de%61dbeef1234", "50[REDACTED:N]"],
    ["7dsSnfZLx", "%97\\u0064sSnfZLx", "[REDACTED:N]"],
    ["nthis-pwd", "C:\\\\nthis-p%77d", "C:[REDACTED:N]"],
    ["u0041pwdx", "\\u0041pwd\\x78", "[REDACTED:N]"],
    ["hunter-2%", "hunter-\\u0032%41!", "[REDACTED:N]!"],
    ["ab%41cd%42ef", "ab\\u002541cd%42ef", "[REDACTED:N]"],
  ])("%s does not hide among escapes that are part of it and others that are not: %s", (value, text, expected) => {
    expect(redactorFor([{ name: "N", value }]).redactText(text).text).toBe(expected);
  });

  verifies("P-4.5", "leaves nothing behind junk when each of its characters is written or escaped at will", () => {
    const value = fc
      .tuple(
        fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCDEF"), minLength: 1, maxLength: 4 }),
        fc.string({ unit: fc.constantFrom(..."nrtuxaAfF0149-_.zZ"), minLength: 7, maxLength: 16 }),
      )
      .map((parts) => parts.join(""));
    const spellings = [(c: string) => c, (c: string) => c, ...ESCAPES_OF_ONE];
    const junk = fc.constantFrom(
      "",
      "50%",
      "%",
      "%25",
      "%2525",
      "\\",
      "\\\\",
      "\\u",
      "\\u00",
      "\\x",
      "&",
      "&#",
      "%4",
      "%6",
      "be%",
    );
    fc.assert(
      fc.property(
        value,
        fc.array(junk, { maxLength: 4 }),
        fc.infiniteStream(fc.nat(spellings.length - 1)),
        (secret, before, choices) => {
          const written = [...secret]
            .map((c) => (spellings[choices.next().value] as (c: string) => string)(c))
            .join("");
          const { text } = redactorFor([{ name: "N", value: secret }]).redactText(`<${before.join("")}${written}>`);
          expect(text).toMatch(/^<[^\]]*(?:\[REDACTED:N\]|⟦secret:N⟧)>$/);
          expect(before.join("").startsWith(text.slice(1, text.search(/\[REDACTED|⟦/)))).toBe(true);
        },
      ),
      { numRuns: 600 },
    );
  });

  verifies("P-4.5", "in other scripts is not released in part: 12 bytes in UTF-8 are too many in UTF-16 too", () => {
    const value = "密码ab是一二é三四cd五六七八😀九";
    const { redactText } = redactorFor([{ name: "N", value }]);
    const characters = [...value];
    const fragments = characters.flatMap((_, from) => {
      const to = characters.findIndex((_, at) => utf8Bytes(characters.slice(from, at + 1).join("")).length >= 12);
      return to < 0 ? [] : [characters.slice(from, to + 1).join("")];
    });
    expect(Math.min(...fragments.map((fragment) => utf16Bytes(fragment, true).length))).toBe(8);
    for (const fragment of fragments) {
      for (const bigEndian of [false, true]) {
        const bytes = utf16Bytes(fragment, bigEndian);
        for (const disguised of [hex(bytes), base64(bytes), base64([1, ...bytes]), base64([1, 2, ...bytes])]) {
          expect(redactText(`<${disguised}>`).text).toMatch(/^<[^\]]{0,4}\[REDACTED:N\].{0,4}>$/);
        }
        expect(redactText(`<${asLatin1(bytes)}>`).text).toContain("[REDACTED:N]");
      }
      expect(redactText(`<${fragment}>`).text).toBe("<[REDACTED:N]>");
    }
  });

  test("that has spaces is not released in part: of 12 bytes only those that count are asked for", () => {
    const { redactText } = redactorFor([{ name: "N", value: "密 码 是 一 二 三 四 五 六" }]);
    expect(redactText("<码 是 一 >").text).toBe("<[REDACTED:N] >");
    expect(redactText("<码 是>").text).toBe("<码 是>");
  });
});
