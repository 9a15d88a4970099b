/** Whatever a reader could follow counts; plain sentences do not. */
import { describe, expect, test } from "vitest";
import { countLinks } from "../../../../src/adapters/tools/message/count-links.ts";

describe("links", () => {
  test.each([
    "https://evil.test/x",
    "see HTTP://EVIL.TEST",
    "evil.test",
    "www dot evil",
    "go to evil.test/path?q=1",
    "mailto:bob@evil.test",
    "bob@evil.test",
    "@bob",
    "tel:+4912345",
    "javascript:alert(1)",
    "//evil",
    "10.0.0.1",
    "[::1]",
    "evil[.]test",
    "evil (dot) test",
    "evil { dot } test",
    "evil dot com",
    "evil .test",
    "[here](evil)",
    '<a href="x">here</a>',
    "evil。test",
    "evil．test",
    "evil｡test",
    "evil․test",
    "ｅｖｉｌ．ｔｅｓｔ",
    "evil\u200b.\u200btest",
    "ev\u00adil.te\u00adst",
    "htt\u200dps:\u2060//evil",
    "пример.рф",
    "例え.テスト",
    "xn--e1afmkfd.xn--p1ai",
    "bit.ly/abc",
    "end.Next",
  ])("%s is one", (text) => {
    expect(countLinks(`Hello, ${text} and goodbye`)).toBeGreaterThan(0);
  });

  test.each([
    "Thank you. We will answer soon.",
    "Dear Anna: it is 12:30, and 3 of 4 agree!",
    "Vielen Dank für Ihre Nachricht. Wir melden uns.",
    "ありがとう。また明日。",
    "Really? Yes... quite (I think) - no more; or less",
    "a\nb",
    "",
  ])("%j has none", (text) => {
    expect(countLinks(text)).toBe(0);
  });

  test("each is counted, and a long text costs no more than its length", () => {
    expect(countLinks("a.example and b.example")).toBe(2);
    for (const unit of ["a", "[", "(", " ", "a ", "a.", "]", "dot ", "[0"])
      countLinks(unit.repeat(65_536 / unit.length));
  });
});
