/** Texts that try to get a value past the filters: in every spelling, broken up, marked up, and not quite. */
import fc from "fast-check";
import { DIGIT_DISGUISES, ESCAPES_OF_ONE, textsWith, WHOLE_DISGUISES } from "./disguises.ts";

/** What may stand between two characters of a value, in some view or markup. */
const BETWEEN = [
  " ",
  "\n    ",
  "\\",
  "\0",
  "\u00ad",
  "\u200b",
  ".",
  ":",
  ",",
  "-",
  "\\n",
  "%20",
  "&nbsp;",
  "&amp;",
  "<b>",
  "</b>",
  "](#x)",
  "][y]",
  "<é>",
  "é",
  "1. ",
  " ".repeat(16),
  " ".repeat(17),
];

/** Half an escape, a marker or a tag, that may join what comes after it. */
const LOOSE_ENDS = [
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
  "&a",
  "%4",
  "<",
  "<i",
  "](",
  "][",
  "[",
  "⟦",
  "\ud83d",
  "\ude00",
  "\ufffd",
  "ﷺ",
  "密码",
];

const plainly = (character: string): string => character;
const SPELLINGS = [plainly, plainly, plainly, ...ESCAPES_OF_ONE];

/** How to write a value: each character at will, with things in between, now and then with one character wrong. */
const anySpelling: fc.Arbitrary<(value: string) => string> = fc
  .record({
    spellings: fc.array(fc.nat(SPELLINGS.length - 1), { minLength: 1, maxLength: 7 }),
    gaps: fc.array(fc.option(fc.constantFrom(...BETWEEN), { freq: 2 }), { minLength: 1, maxLength: 7 }),
    wrongAt: fc.option(fc.nat(60), { freq: 2 }),
  })
  .map(({ spellings, gaps, wrongAt }) => (value: string) => {
    const spelled = (character: string, at: number): string => {
      if (at === wrongAt) return "~";
      const spell = SPELLINGS[spellings[at % spellings.length] as number] as (character: string) => string;
      return character < "\x80" ? spell(character) : character;
    };
    return [...value].map((character, at) => spelled(character, at) + (gaps[at % gaps.length] ?? "")).join("");
  });

const anyDisguise: fc.Arbitrary<(value: string) => string> = fc.constantFrom(
  plainly,
  (value: string) => value.toUpperCase(),
  (value: string) => [...value].reverse().join(""),
  ...Object.values(WHOLE_DISGUISES),
  ...Object.values(DIGIT_DISGUISES),
);

/** A value or a fragment about as long as is too long, disguised, spelled, or both. */
export const plantedFrom = (values: readonly string[]): fc.Arbitrary<string> =>
  fc
    .record({
      value: fc.constantFrom(...values),
      from: fc.nat(200),
      length: fc.oneof(fc.constantFrom(7, 8, 9, 10, 11, 12, 13), fc.constantFrom(19, 20, 47, 48, 49), fc.nat(90)),
      isWhole: fc.boolean(),
      disguise: anyDisguise,
      spelling: fc.option(anySpelling, { nil: plainly }),
      isSpelledFirst: fc.boolean(),
    })
    .map(({ value, from, length, isWhole, disguise, spelling, isSpelledFirst }) => {
      const characters = [...value];
      const start = from % characters.length;
      const part = isWhole ? value : characters.slice(start, start + length + 1).join("");
      return isSpelledFirst ? disguise(spelling(part)) : spelling(disguise(part));
    });

export const hostileTextsWith = (values: readonly string[]): fc.Arbitrary<string> => {
  const part = fc.oneof(
    { weight: 3, arbitrary: plantedFrom(values) },
    { weight: 2, arbitrary: fc.constantFrom(...LOOSE_ENDS) },
    { weight: 2, arbitrary: textsWith(values) },
    { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom("The quick brown fox ", "a, b; c. ", "[see](https://a.example/) <br/>\n") },
  );
  return fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
};
