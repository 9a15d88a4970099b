/** Escapes and decorations are read by hand, for speed. What they read is what these expressions match. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_DECORATION_CHARS, readDecoration } from "../../../src/kernel/redaction/decoration.ts";
import { type EscapeToken, readEscape } from "../../../src/kernel/redaction/escape-token.ts";

const BACKSLASHED = /\\{1,8}(?:u\{(?<braced>[0-9a-f]{1,6})\}|u(?<unit>[0-9a-f]{4})|x(?<point>[0-9a-f]{2})|[nrt])/;
const PERCENT = /%(?:25){0,4}(?<byte>[0-9a-f]{2})/;
const NUMBERED = /&#(?:x(?<hex>[0-9a-f]{1,6})|(?<decimal>[0-9]{1,7}));/;
const MODIFIERS = "acute|breve|caron|cedil|circ|dot|fr|grave|macr|ogon|opf|ring|scr|slash|strok|tilde|uml";
const ENTITY = new RegExp(`&(?:(?<letter>[a-z])(?:${MODIFIERS})|(?<named>[a-z][a-z0-9]{1,30}));`);
const ESCAPE = new RegExp([BACKSLASHED, PERCENT, NUMBERED, ENTITY].map(({ source }) => source).join("|"), "iy");
const NAMED: Readonly<Record<string, number>> = { amp: 0x26, lt: 0x3c, gt: 0x3e, quot: 0x22, apos: 0x27 };

function matchedEscape(text: string): EscapeToken | null {
  ESCAPE.lastIndex = 0;
  const match = ESCAPE.exec(text);
  if (match?.groups === undefined) return null;
  const { braced, unit, point, byte, hex, decimal, letter, named } = match.groups;
  const digits = braced ?? unit ?? point ?? byte ?? hex;
  const code =
    digits !== undefined
      ? Number.parseInt(digits, 16)
      : decimal !== undefined
        ? Number.parseInt(decimal, 10)
        : (letter?.charCodeAt(0) ?? NAMED[named?.toLowerCase() ?? ""] ?? 0x20);
  return code > 0x10ffff ? null : { length: match[0].length, code, isByte: byte !== undefined };
}

const ESCAPE_PARTS =
  "\\ \\\\ % & &# # ; 25 25 4 1 a F g z Z u U x X { } n r T amp LT quot uml SCR acute 0073 10ffff 110000 1114111 1114112 ſ K é - 9".split(
    " ",
  );

test("an escape is read wherever the expression matches one, and as long", () => {
  const rest = fc.array(fc.constantFrom(...ESCAPE_PARTS, " "), { maxLength: 12 }).map((parts) => parts.join(""));
  const start = fc.oneof(
    fc.constantFrom("\\", "\\u", "\\u{", "\\x", "%", "%25", "%2525", "&", "&#", "&#x", "~"),
    fc.nat(12).map((count) => "\\".repeat(count)),
    fc.nat(6).map((count) => `%${"25".repeat(count)}`),
    fc.nat(34).map((count) => `&${"a".repeat(count)}`),
  );
  let read = 0;
  fc.assert(
    fc.property(start, rest, (before, after) => {
      const text = before + after;
      const token = readEscape(text, 0, true);
      expect(token).toEqual(matchedEscape(text));
      if (token) read += 1;
    }),
    { numRuns: 20_000 },
  );
  expect(read).toBeGreaterThan(2_000);
});

const COMPLETE = /^(?:<[/!?]?[a-z-][^<>]*>|\]\((?:[^()]|\([^()]*\))*\)|\]\[[^[\]]*\])/i;
const OPEN = /^(?:<[/!?]?(?:[a-z-][^<>]*)?|\](?:\((?:[^()]|\([^()]*\))*(?:\([^()]*)?)?|\]\[[^[\]]*)$/i;

function matchedDecoration(text: string, isFinal: boolean): number | undefined {
  const rest = text.slice(0, MAX_DECORATION_CHARS);
  const complete = COMPLETE.exec(rest);
  if (complete !== null) return complete[0].length;
  return !isFinal && rest.length < MAX_DECORATION_CHARS && OPEN.test(rest) ? undefined : 0;
}

test("a decoration is read wherever the expression matches one, and as long", () => {
  const parts = ["<", ">", "[", "]", "(", ")", "/", "!", "?", "-", "a", "Z", " ", "\n", "ſ", "1", "<b>", "](x)"];
  const text = fc
    .tuple(
      fc.constantFrom("<", "]", "<a", "](", "][", "a"),
      fc.array(fc.constantFrom(...parts, "x".repeat(125)), { maxLength: 9 }),
    )
    .map(([start, rest]) => start + rest.join(""));
  let read = 0;
  fc.assert(
    fc.property(text, fc.boolean(), (written, isFinal) => {
      const length = readDecoration(written, 0, isFinal);
      expect(length).toBe(matchedDecoration(written, isFinal));
      if (length) read += 1;
    }),
    { numRuns: 10_000 },
  );
  expect(read).toBeGreaterThan(1_000);
});
