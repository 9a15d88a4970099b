/**
 * Markup that who reads the rendered text does not see: `<b>`, `</p>`, `<!-- x -->`, and the target in `[word](target)`
 * or `[word][target]`.
 *
 * D1. No decoration is longer than MAX_DECORATION_CHARS: with that much text at hand the answer is final.
 * D2. What cannot become a decoration any more is known at once, so that a `<` in prose holds back little.
 */
export const MAX_DECORATION_CHARS = 256;

const COMPLETE = /^(?:<[/!?]?[a-z-][^<>]*>|\]\((?:[^()]|\([^()]*\))*\)|\]\[[^[\]]*\])/i;
const OPEN = /^(?:<[/!?]?(?:[a-z-][^<>]*)?|\](?:\((?:[^()]|\([^()]*\))*(?:\([^()]*)?)?|\]\[[^[\]]*)$/i;

/** What can follow the first character: most of what looks like a start is none, and that is told cheaply. */
const SECOND_OF_TAG = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-/!?";
const SECOND_OF_TARGET = "([";

export function startsDecoration(unit: number): boolean {
  return unit === 0x3c || unit === 0x5d;
}

/** How long it is; 0 when none stands here, undefined when that cannot be known before more text comes. */
export function readDecoration(text: string, at: number, isFinal: boolean): number | undefined {
  const unit = text.charCodeAt(at);
  if (!startsDecoration(unit)) return 0;
  // Past the end this is the empty string, which every string includes.
  if (!(unit === 0x3c ? SECOND_OF_TAG : SECOND_OF_TARGET).includes(text.charAt(at + 1))) return 0;
  const rest = text.slice(at, at + MAX_DECORATION_CHARS);
  const complete = COMPLETE.exec(rest);
  if (complete !== null) return complete[0].length;
  return !isFinal && rest.length < MAX_DECORATION_CHARS && OPEN.test(rest) ? undefined : 0;
}
