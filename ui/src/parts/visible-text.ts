/**
 * Characters that hide, reorder or imitate: direction controls, zero-width and tag characters, controls, private and unassigned
 * spaces. Line feeds and tabs are text. A joiner within an emoji or between letters of a script that needs it stays invisible
 * nowhere: where people approve what they read, every one of them is shown.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]|\p{Cs}/gu;

export interface Piece {
  readonly text: string;
  /** `U+202E` in its place. */
  readonly isMark: boolean;
}

/** The text in pieces, each hidden character as a mark of its own. Repeated ones are counted. */
export function visiblePieces(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), isMark: false });
    pieces.push({ text: codePointName(match[0]), isMark: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isMark: false });
  return merged(pieces);
}

/** For attributes and announcements, which hold no marks of their own. */
export function visibleString(text: string): string {
  return text.replaceAll(HIDDEN, (hidden) => `[${codePointName(hidden)}]`);
}

function merged(pieces: readonly Piece[]): readonly Piece[] {
  const result: { text: string; isMark: boolean; count: number }[] = [];
  for (const { text, isMark } of pieces) {
    const last = result.at(-1);
    if (isMark && last?.isMark && last.text === text) last.count += 1;
    else result.push({ text, isMark, count: 1 });
  }
  return result.map(({ text, isMark, count }) => ({ text: count === 1 ? text : `${text}×${count}`, isMark }));
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
