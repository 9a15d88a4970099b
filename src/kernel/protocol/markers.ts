/**
 * The four markers of the text protocol (S-2, S-3), and how text falls apart at them. Look-alikes (other case, a
 * zero-width character inside) are text, and a code fence around a marker changes nothing. No marker can begin inside
 * another, so a text splits in one way only.
 */
export const TOOL_CALLS_BEGIN = "<<<TOOL_CALLS_JSON>>>";
export const TOOL_CALLS_END = "<<<END_TOOL_CALLS_JSON>>>";
export const NOTES_BEGIN = "<<<NOTES_JSON>>>";
export const NOTES_END = "<<<END_NOTES_JSON>>>";

export const MARKERS = [TOOL_CALLS_BEGIN, TOOL_CALLS_END, NOTES_BEGIN, NOTES_END] as const;
export type Marker = (typeof MARKERS)[number];

const MARKER = new RegExp(`(${MARKERS.join("|")})`);
const BRACKETS = "<<<";
const BRACKET = "<".charCodeAt(0);
const LONGEST_OPEN = Math.max(...MARKERS.map((marker) => marker.length)) - 1;

export interface MarkedText {
  readonly head: string;
  readonly rest: readonly { readonly marker: Marker; readonly text: string }[];
}

export function splitAtMarkers(text: string): MarkedText {
  if (!text.includes(BRACKETS)) return { head: text, rest: [] };
  const [head = "", ...parts] = text.split(MARKER);
  const rest: { marker: Marker; text: string }[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    rest.push({ marker: parts[at] as Marker, text: parts[at + 1] as string });
  }
  return { head, rest };
}

/** How many characters at the end of `text` could still become a marker. */
export function openMarkerLength(text: string): number {
  for (let length = Math.min(LONGEST_OPEN, text.length); length > 0; length -= 1) {
    // Nearly every character can be passed over without a slice: markers begin with a bracket.
    if (text.charCodeAt(text.length - length) !== BRACKET) continue;
    const tail = text.slice(text.length - length);
    if (MARKERS.some((marker) => marker.length > length && marker.startsWith(tail))) return length;
  }
  return 0;
}
