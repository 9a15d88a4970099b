/**
 * Markers in data (user text, files, results, memories) on their way into a prompt (S-3.3): a visible word is put
 * between the brackets and the name, `<<<quoted TOOL_CALLS_JSON>>>`, so that a person can still read the original. No
 * number of results side by side holds a marker either: where neighbours could complete one, it is broken as well.
 * Nothing is removed, since that could close up another marker, and nothing invisible is added, since it would be lost
 * in the next normalisation.
 */
import { MARKERS, openMarkerLength, splitAtMarkers } from "./markers.ts";

const BRACKETS = "<<<";
const QUOTED = "quoted ";
/** The rest of a marker when some of its brackets belong to the text beside it. */
const ENDS = MARKERS.flatMap((marker) => [1, 2, 3].map((missing) => ({ end: marker.slice(missing), missing })));

export function escapeMarkers(text: string): string {
  // Without a bracket there is neither a marker nor the beginning of one.
  if (!text.includes("<")) return escapeStart(text);
  const { head, rest } = splitAtMarkers(text);
  const inert = head + rest.map(({ marker, text: after }) => quoteAt(marker, BRACKETS.length) + after).join("");
  return escapeEnd(escapeStart(inert));
}

/** `<NOTES_JSON>>>` after a neighbour that ends in `<<`. */
function escapeStart(text: string): string {
  for (const { end, missing } of ENDS) if (text.startsWith(end)) return quoteAt(text, BRACKETS.length - missing);
  return text;
}

/** `<<<NOTES_J` before a neighbour that starts with `SON>>>`; `<` or `<N` where it is the only text between two. */
function escapeEnd(text: string): string {
  for (let missing = 0; missing < BRACKETS.length; missing += 1) {
    const open = openMarkerLength(BRACKETS.slice(0, missing) + text);
    if (open >= BRACKETS.length) return quoteAt(text, text.length - open + BRACKETS.length);
  }
  return text;
}

function quoteAt(text: string, at: number): string {
  return text.slice(0, at) + QUOTED + text.slice(at);
}
