/**
 * Markup that who reads the rendered text does not see: `<b>`, `</p>`, `<!-- x -->`, `&nbsp;`, the target in
 * `[word](target)` or `[word][target]`. It stands for white space; `&eacute;` and its like stand for their letter.
 *
 * D1. No decoration is longer than MAX_DECORATION_CHARS: with that much text at hand the answer is final.
 * D2. What cannot become a decoration any more is known at once, so that an `&` or `<` in prose holds back little.
 */
export const MAX_DECORATION_CHARS = 256;

interface Decoration {
  /** Characters of source. */
  readonly length: number;
  readonly code: number;
}

const COMPLETE =
  /^(?:<[/!?]?[a-z-][^<>]*>|\]\((?:[^()]|\([^()]*\))*\)|\]\[[^[\]]*\]|&(?<letter>[a-z])(?:acute|breve|caron|cedil|circ|dot|fr|grave|macr|ogon|opf|ring|scr|slash|strok|tilde|uml);|&[a-z][a-z0-9]{1,30};)/i;
const OPEN =
  /^(?:<(?:[/!?]?|[/!?]?[a-z-][^<>]*)|\](?:\((?:[^()]|\([^()]*\))*(?:\([^()]*)?)?|\]\[[^[\]]*|&(?:[a-z][a-z0-9]{0,30})?)$/i;
const SPACE = 0x20;

export function startsDecoration(unit: number): boolean {
  return unit === 0x3c || unit === 0x5d || unit === 0x26;
}

/** Null when no decoration stands here; undefined when that cannot be known before more text comes. */
export function readDecoration(text: string, at: number, isFinal: boolean): Decoration | null | undefined {
  const rest = text.slice(at, at + MAX_DECORATION_CHARS);
  const match = COMPLETE.exec(rest);
  if (match !== null) {
    return { length: match[0].length, code: match.groups?.["letter"]?.charCodeAt(0) ?? SPACE };
  }
  return !isFinal && rest.length < MAX_DECORATION_CHARS && OPEN.test(rest) ? undefined : null;
}
