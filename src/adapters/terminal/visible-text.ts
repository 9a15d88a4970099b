/**
 * Makes foreign text safe for a terminal.
 *
 * V1. `safeText`, for reading: nothing can move the cursor, change colours, reorder other text or hide. Control characters
 *     except tab and line end, direction overrides, lone surrogates and characters of no width that no script needs are
 *     written as `\u{…}`. So is the gutter, which marks questions.
 * V2. `visibleText`, for decisions: invisible characters and blanks other than the space are written out as well, although
 *     some languages and emoji need them. So are marks that change no letter or symbol, or pile up on one.
 * V3. Both work character by character, so text may come in pieces that do not split one.
 * V4. `visibleJson`, for JSON texts: escapes what V1 writes out in JSON's own way, so that the value stays the same.
 */
/** Begins each row of a question; no foreign text can. */
export const GUTTER = "▌";
const MOVING =
  /(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u{202a}-\u{202e}\u{2060}-\u{2069}\u{200b}\u{feff}\u{e0000}-\u{e007f}\u{258c}]/gu;
const INVISIBLE =
  /(?! )[\p{Cf}\p{Co}\p{Zs}\u{115f}\u{1160}\u{2800}\u{3164}\u{ffa0}]|[\u{fe00}-\u{fe0e}]|[\u{e0100}-\u{e01ef}]/gu;
const MARKS = /([\p{L}\p{N}\p{S}]\p{M}{1,4})|\p{M}/gu;

export function safeText(text: string): string {
  return text.replace(MOVING, written);
}

export function visibleText(text: string): string {
  return safeText(text)
    .replace(INVISIBLE, written)
    .replace(MARKS, (character, marked: string | undefined) => marked ?? written(character));
}

/** For single lines, where a line end would forge another line, and so would blanks that fill the rest of a row. */
export function visibleLine(text: string): string {
  return visibleText(text)
    .replace(/[\n\t]/g, written)
    .replace(/ {9,}/g, (blanks) => ` \\u{20}×${blanks.length} `);
}

/** JSON holds these only inside strings, and always escapes control characters below U+0020. */
const MOVING_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function visibleJson(json: string): string {
  return json.replace(MOVING_IN_JSON, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function written(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
