/**
 * Streams an answer without its NOTES and TOOL_CALLS blocks: the output is `scanBlocks(content).visibleText`, however
 * the answer was cut. Text that could still become a marker is held back, and no output ends inside a surrogate pair,
 * unless the whole answer does.
 */
import type { Transducer } from "../../vocabulary/transducer.ts";
import { openMarkerLength, splitAtMarkers } from "../markers.ts";
import { faultAt, passMarker, SCAN_START, type ScanPlace } from "../scan-blocks.ts";

export interface StripperState {
  readonly place: ScanPlace;
  /** The end of what arrived, while it may still become a marker. */
  readonly unread: string;
  /** The end of the visible text, while it may still become a marker or is half a character. */
  readonly unshown: string;
}

export const markerStripper: Transducer<string, string, StripperState> = {
  start: () => ({ place: SCAN_START, unread: "", unshown: "" }),
  push(state, chunk) {
    const text = state.unread + chunk;
    const read = text.length - openMarkerLength(text);
    const [place, visible] = strip(state.place, text.slice(0, read));
    const unread = text.slice(read);
    const { head, rest } = splitAtMarkers(state.unshown + visible);
    if (rest.length > 0) return [{ place: faultAt("protocol.nested-block"), unread, unshown: "" }, head];
    const shown = head.length - unshownLength(head);
    return [{ place, unread, unshown: head.slice(shown) }, head.slice(0, shown)];
  },
  finish: ({ place, unread, unshown }) => (place.at === "text" ? unshown + unread : unshown),
};

function strip(start: ScanPlace, text: string): readonly [ScanPlace, string] {
  const { head, rest } = splitAtMarkers(text);
  let place = start;
  let visible = place.at === "text" ? head : "";
  for (const { marker, text: after } of rest) {
    place = passMarker(place, marker);
    if (place.at === "text") visible += after;
  }
  return [place, visible];
}

function unshownLength(text: string): number {
  return /[\uD800-\uDBFF]$/.test(text) ? 1 : openMarkerLength(text);
}
