import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PatternFilter } from "../../../src/kernel/redaction/pattern-filter.ts";
import { compilePatterns, PATTERNS_STARTED, scanPatterns } from "../../../src/kernel/redaction/pattern-scanner.ts";
import { EMAIL_PATTERNS, PHONE_PATTERNS, SECRET_PATTERNS } from "../../../src/kernel/redaction/secret-patterns.ts";

const filter = new PatternFilter(SECRET_PATTERNS);
const table = compilePatterns(SECRET_PATTERNS);
const scanned = (text: string) => scanPatterns(table, PATTERNS_STARTED, [text], true)[1];

/** Split so that no scanner takes this file for a leak. */
const join = (...parts: readonly string[]): string => parts.join("");
const VALUE = "abcdefghijklmn12";
const BLANKS = " \t".repeat(4);
const SLASHES = "\\".repeat(4);

/** For each rule that looks behind: as much as may stand there, and one more. */
const LONGEST_LEADS: readonly (readonly [string, string, string])[] = [
  ...[
    "api_key",
    "secret_access_key",
    "token",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "account-key",
    "credentials",
  ].flatMap((name): [string, string, string][] => [
    [`${name}=`, join(name, SLASHES, '"', BLANKS, "=>", BLANKS, SLASHES, "'"), VALUE],
    [`-${name}`, join("-", name, '   "'), VALUE],
  ]),
  ["authorization", join("Authorization", SLASHES, '"', BLANKS, ":", BLANKS, SLASHES, "'bearer", "  \t\t"), "abcdefgh"],
  ["bearer", "Bearer \t \t", "abcdefghijklmno1"],
  ["user info", join("https://", "u".repeat(128), ":"), "p@host"],
  ["slack", "https://hooks.slack.com/services/", "T0000/B0000/abcdefgh"],
];

describe("a rule is asked where its clue points to", () => {
  test.each(LONGEST_LEADS)("with the longest lead: %s", (_, lead, value) => {
    for (const before of ["", "x ", "é😀 ".repeat(50)]) {
      const text = `${before}${lead}${value} and more`;
      expect(scanned(text).found.length).toBe(1);
      const place = filter.firstPlace(text);
      expect(place).not.toBeNull();
      expect(place).toBeLessThanOrEqual(before.length + lead.length);
    }
  });

  test.each(LONGEST_LEADS)("and not where it comes to nothing: %s", (_, lead, value) => {
    expect(filter.firstPlace(`${lead}${value.slice(0, 1)} and more`)).toBeNull();
    expect(filter.firstPlace(`${lead} ${lead} `)).toBeNull();
  });

  test("in any case, and behind a first clue that comes to nothing", () => {
    expect(filter.firstPlace(`ToKeN=${VALUE}`)).not.toBeNull();
    expect(filter.firstPlace(`token token token: x token=${VALUE}`)).not.toBeNull();
    expect(filter.firstPlace(`key key ${"apikey".repeat(30)}=${VALUE}`)).not.toBeNull();
    expect(filter.firstPlace(join("sk-a sk-b sk-", "abcdefghijklmno1"))).not.toBeNull();
    expect(filter.firstPlace(join("123456:", "ABC-DEF1234ghIkl-zyx57W2v1u123ew11"))).toBe(0);
    expect(filter.firstPlace(join("10:30 123456789012:", "ABC-DEF1234ghIkl-zyx57W2v1u123ew11"))).not.toBeNull();
  });

  test("behind characters of all lengths", () => {
    const secret = join("ghp_", "0123456789abcdefghij");
    for (const filling of ["x", "é", "密", "😀"]) {
      const text = `${filling.repeat(500)} ${secret} ${filling.repeat(500)}`;
      const place = filter.firstPlace(text);
      const expected = text.indexOf(secret);
      expect(place).toBeLessThanOrEqual(expected);
      expect(place).toBeGreaterThan(expected - 64);
    }
  });
});

test("rules are told apart by the character before, whatever was scanned first", () => {
  const one = compilePatterns(SECRET_PATTERNS);
  const found = (text: string): readonly string[] => scanPatterns(one, PATTERNS_STARTED, [text], true)[1].found;
  const values = [
    join("sk-", "abcdefghijklmno1"),
    join("AKIA", "IOSFODNN7EXAMPLE"),
    join("ghp_", "0123456789abcdefghij"),
    join("hf_", "0123456789abcdefghij0123456789"),
    join("npm_", "0123456789abcdefghij0123456789"),
    join("eyJhbGciOi", "J9.eyJzdWIi"),
  ];
  const before = Array.from({ length: 0x82 }, (_, code) => String.fromCharCode(code)).filter(
    (c) => !/[a-z0-9]/i.test(c),
  );
  for (const character of before) for (const first of "abcdefghijklmnopqrstuvwxyzABCDEFGH") found(character + first);
  for (const character of before) for (const value of values) expect(found(character + value).length).toBe(1);
});

const PIECES = [
  ...SECRET_PATTERNS.flatMap(({ sign }) => (sign instanceof RegExp ? [] : sign.map(({ literal }) => literal))),
  ...["a1B2c3D4e5F6g7H8i9J0", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "PRIVATE KEY-----", "-----", "123456789", "00:"],
  ..."= => := : ' \" ` \\ / . - _ @ ? # % %41 \\n é 😀 ⟦ Basic basic user".split(" "),
  ...[" ", "\t", "\n", "bob@mail.example", "+49 30 1234567", "555-123-4567", "12345678", "00491234567"],
];

describe("the filter", () => {
  test.each([
    ["secrets", SECRET_PATTERNS],
    ["secrets, addresses and numbers", [...SECRET_PATTERNS, ...EMAIL_PATTERNS, ...PHONE_PATTERNS]],
  ])("leaves out nothing that a scan of all places finds: %s", (_, patterns) => {
    const all = compilePatterns(patterns);
    let clean = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }), fc.boolean(), (pieces, isUpper) => {
        const text = isUpper ? pieces.join("").toUpperCase() : pieces.join("");
        const [, { found, text: out }] = scanPatterns(all, PATTERNS_STARTED, [text], true);
        const place = all.filter.firstPlace(text);
        if (place === null) expect(found).toEqual([]);
        else expect(out.startsWith(text.slice(0, place))).toBe(true);
        if (place === null) clean += 1;
      }),
      { numRuns: 4_000 },
    );
    expect(clean).toBeGreaterThan(200);
    expect(clean).toBeLessThan(3_900);
  });

  test("finds every clue, and not what is only like it", () => {
    for (const pattern of SECRET_PATTERNS) {
      if (pattern.sign instanceof RegExp) continue;
      for (const { literal, nearest, farthest } of pattern.sign) {
        // A rule that matches wherever it is asked.
        const any = { ascii: Array.from({ length: 128 }, () => true), beyondAscii: true };
        const eager = { ...pattern, first: any, after: any, match: () => 1, mayFollow: () => true };
        const one = new PatternFilter([{ ...eager, sign: [{ literal, nearest, farthest }] }]);
        expect(one.firstPlace(`${"~".repeat(40)}${literal}${"~".repeat(200)}`)).not.toBeNull();
        expect(one.firstPlace(`${"~".repeat(40)}${literal.slice(1)}${"~".repeat(200)}`)).toBeNull();
      }
    }
  });
});
