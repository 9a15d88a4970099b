/**
 * Finds NOTES and TOOL_CALLS blocks in a text, marker by marker. The adapters (whole answers) and the marker stripper
 * (streams) walk the same automaton, so both see the same blocks. A fault is final: from there on nothing is visible.
 * Removing blocks must not create a marker from the text around them: `<<<NOTES_<block>JSON>>>` nests as well. A stray
 * end of NOTES is not a fault: the block is ignored, the answer is kept (S-2.5).
 */
import { unreachable } from "../vocabulary/defect.ts";
import { type Marker, NOTES_BEGIN, NOTES_END, splitAtMarkers, TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "./markers.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";

export type BlockFault = Extract<
  ProtocolFailure,
  | "protocol.nested-block"
  | "protocol.notes-in-tool-block"
  | "protocol.several-blocks"
  | "protocol.unmatched-end"
  | "protocol.unterminated-block"
>;

export type ScanPlace =
  | { readonly at: "text"; readonly hadToolCalls: boolean }
  | { readonly at: "notes"; readonly hadToolCalls: boolean }
  | { readonly at: "tool-calls" }
  | { readonly at: "fault"; readonly fault: BlockFault };

export const SCAN_START: ScanPlace = { at: "text", hadToolCalls: false };

export function passMarker(place: ScanPlace, marker: Marker): ScanPlace {
  switch (place.at) {
    case "fault":
      return place;
    case "tool-calls":
      if (marker === TOOL_CALLS_END) return { at: "text", hadToolCalls: true };
      return faultAt(marker === TOOL_CALLS_BEGIN ? "protocol.nested-block" : "protocol.notes-in-tool-block");
    case "notes":
      return marker === NOTES_END ? { at: "text", hadToolCalls: place.hadToolCalls } : faultAt("protocol.nested-block");
    case "text":
      return leaveText(place, marker);
    default:
      return unreachable(place, "scan place");
  }
}

function leaveText(place: ScanPlace & { at: "text" }, marker: Marker): ScanPlace {
  switch (marker) {
    case TOOL_CALLS_BEGIN:
      return place.hadToolCalls ? faultAt("protocol.several-blocks") : { at: "tool-calls" };
    case TOOL_CALLS_END:
      return faultAt("protocol.unmatched-end");
    case NOTES_BEGIN:
      return { at: "notes", hadToolCalls: place.hadToolCalls };
    case NOTES_END:
      return place;
    default:
      return unreachable(marker, "marker");
  }
}

export function faultAt(fault: BlockFault): ScanPlace {
  return { at: "fault", fault };
}

export interface ScannedBlocks {
  readonly visibleText: string;
  /** The inside of the TOOL_CALLS block, or null without one. */
  readonly toolCalls: string | null;
  /** The inside of each terminated NOTES block. */
  readonly notes: readonly string[];
  /** A NOTES marker without its partner. */
  readonly strayNotes: boolean;
  readonly fault: BlockFault | null;
}

export function scanBlocks(content: string): ScannedBlocks {
  const { head, rest } = splitAtMarkers(content);
  let place = SCAN_START;
  let visibleText = head;
  let toolCalls: string | null = null;
  let strayNotes = false;
  const notes: string[] = [];
  let open = "";
  for (const { marker, text } of rest) {
    const before = place;
    place = passMarker(before, marker);
    if (before.at === "tool-calls" && place.at === "text") toolCalls = open;
    if (before.at === "notes" && place.at === "text") notes.push(open);
    if (before.at === "text" && marker === NOTES_END) strayNotes = true;
    open = text;
    if (place.at === "text") visibleText += text;
  }
  if (place.at === "tool-calls") place = faultAt("protocol.unterminated-block");
  if (place.at === "notes") strayNotes = true;
  const shown = splitAtMarkers(visibleText);
  if (shown.rest.length > 0 && place.at !== "fault") place = faultAt("protocol.nested-block");
  return { visibleText: shown.head, toolCalls, notes, strayNotes, fault: place.at === "fault" ? place.fault : null };
}
