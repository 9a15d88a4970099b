/**
 * Characters that hide, reorder or imitate, made visible as marks such as `U+202E`.
 *
 * V1. Reading: controls, direction marks, zero-width, tag and unassigned characters. A joiner or selector inside an emoji, and a
 *     joiner between letters of a script that writes with it, stay as they are.
 * V2. Deciding: all of those too, and blanks other than the space, because what is approved has to be what is read.
 */
const JOINED_SCRIPTS =
  "\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Gujarati}\\p{Script=Sinhala}\\p{Script=Khmer}";
const IN_EMOJI = "(?<=\\p{Emoji}\\p{EMod}?)\\ufe0f|(?<=\\p{ExtPict}\\ufe0f?\\p{EMod}?)\\u200d(?=\\p{ExtPict})";
const IN_WORD = `(?<=[${JOINED_SCRIPTS}]\\p{M}?)[\\u200c\\u200d](?=[${JOINED_SCRIPTS}])`;
const HIDDEN =
  "[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\u{e0100}-\\u{e01ef}]";
const READING = new RegExp(`(?![\\t\\n]|${IN_EMOJI}|${IN_WORD})${HIDDEN}`, "gu");
const DECIDING = new RegExp(`(?![\\t\\n])(?:${HIDDEN}|(?! )\\p{Zs})`, "gu");

export interface Piece {
  /** Where it begins in the text. */
  readonly at: number;
  readonly text: string;
  readonly isMark: boolean;
}

/** The text in pieces, hidden characters as marks; repeated ones are counted. */
export function visiblePieces(text: string, isDeciding = false): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  let run = { name: "", count: 0, end: -1 };
  for (const match of text.matchAll(isDeciding ? DECIDING : READING)) {
    const { 0: hidden, index: at } = match;
    const name = codePointName(hidden);
    if (name === run.name && at === run.end) {
      run = { name, count: run.count + 1, end: at + hidden.length };
      pieces[pieces.length - 1] = { at, text: `${name}×${run.count}`, isMark: true };
    } else {
      if (at > from) pieces.push({ at: from, text: text.slice(from, at), isMark: false });
      run = { name, count: 1, end: at + hidden.length };
      pieces.push({ at, text: name, isMark: true });
    }
    from = run.end;
  }
  if (from < text.length) pieces.push({ at: from, text: text.slice(from), isMark: false });
  return pieces;
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
