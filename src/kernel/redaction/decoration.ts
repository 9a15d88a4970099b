/**
 * Markup that rendering hides: `<b>`, `</p>`, `<!-- x -->`, and the target in `[word](target)` or `[word][target]`.
 * None is longer than MAX_DECORATION_CHARS, and a text that cannot become one is rejected at once, so that a `<` in
 * prose holds back little.
 */
export const MAX_DECORATION_CHARS = 256;

const TARGET = /^\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])/;
const OPEN = /^(?:<[/!?]?(?:[a-z-][^<>]*)?|\](?:\((?:[^()]|\([^()]*\))*(?:\([^()]*)?)?|\]\[[^[\]]*)$/i;
const SECOND_OF_TAG = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-/!?";
const SECOND_OF_TARGET = "([";
const OPENS_TAG = /^<[/!?]?[a-z-]/i;

export function startsDecoration(unit: number): boolean {
  return unit === 0x3c || unit === 0x5d;
}

/** Its length; 0 for no decoration, undefined when more text must decide. */
export function readDecoration(text: string, at: number, isFinal: boolean): number | undefined {
  const unit = text.charCodeAt(at);
  if (!startsDecoration(unit)) return 0;
  const isTag = unit === 0x3c;
  // Rejects most starts cheaply. Past the end `charAt` gives "", which every text includes.
  if (!(isTag ? SECOND_OF_TAG : SECOND_OF_TARGET).includes(text.charAt(at + 1))) return 0;
  const rest = text.slice(at, at + MAX_DECORATION_CHARS);
  const length = isTag ? tagLength(rest) : (TARGET.exec(rest)?.[0].length ?? 0);
  if (length > 0) return length;
  return !isFinal && rest.length < MAX_DECORATION_CHARS && OPEN.test(rest) ? undefined : 0;
}

function tagLength(rest: string): number {
  const end = rest.indexOf(">");
  const next = rest.indexOf("<", 1);
  const isClosed = end > 0 && (next < 0 || next > end);
  return isClosed && OPENS_TAG.test(rest) ? end + 1 : 0;
}
