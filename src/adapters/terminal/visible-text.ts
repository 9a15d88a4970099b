/**
 * Foreign text on its way to a terminal.
 *
 * V1. `safeText`, for what is read at leisure: nothing in it can move the cursor, change colours or turn other text
 *     round. Control characters but tab and line end, direction overrides and halves of surrogate pairs are written as
 *     `\u{…}`.
 * V2. `visibleText`, for what somebody decides upon: invisible characters are written out as well, though some
 *     languages and emoji need them.
 * V3. Both work character by character: text may come in pieces that do not split one.
 * V4. `visibleJson`, for JSON texts: what V1 writes out is escaped in JSON's own way, so that the value stays the same.
 */
const MOVING = /(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;
const INVISIBLE = /[\p{Cf}\p{Co}\u{115f}\u{1160}\u{3164}\u{ffa0}]|[\u{fe00}-\u{fe0e}]|[\u{e0100}-\u{e01ef}]/gu;

export function safeText(text: string): string {
  return text.replace(MOVING, written);
}

export function visibleText(text: string): string {
  return safeText(text).replace(INVISIBLE, written);
}

/** For places where a line end would forge another line. */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/[\n\t]/g, written);
}

/** Outside of strings JSON has none of these; control characters below U+0020 are escaped in every JSON text. */
const MOVING_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function visibleJson(json: string): string {
  return json.replace(MOVING_IN_JSON, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function written(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
