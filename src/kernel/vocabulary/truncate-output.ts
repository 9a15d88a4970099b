/**
 * Cuts a text to a budget of UTF-8 bytes, with a marker where something is missing (M-4.1, `tool_output_budget`). The
 * result, marker included, never has more than `maxBytes` bytes; a marker that does not fit is cut itself.
 */
import { Defect } from "./defect.ts";

interface TruncatedOutput {
  readonly text: string;
  readonly truncated: boolean;
  /** UTF-8 bytes of `text`. */
  readonly bytes: number;
}

export function truncateOutput(text: string, maxBytes: number, marker: string): TruncatedOutput {
  if (!(maxBytes >= 0)) throw new Defect(`truncateOutput: a budget of ${maxBytes} bytes`);
  const whole = measurePrefix(text, maxBytes);
  if (whole.length === text.length) return { text, truncated: false, bytes: whole.bytes };
  const mark = measurePrefix(marker, maxBytes);
  // A marker that was cut must not be preceded by text in the few bytes its last character did not fit in.
  const room = mark.length === marker.length ? maxBytes - mark.bytes : 0;
  const kept = measurePrefix(text, room);
  return {
    text: text.slice(0, kept.length) + marker.slice(0, mark.length),
    truncated: true,
    bytes: kept.bytes + mark.bytes,
  };
}

/** The longest prefix of whole code points within `maxBytes`; it reads no further than that. */
function measurePrefix(text: string, maxBytes: number): { readonly length: number; readonly bytes: number } {
  let length = 0;
  let bytes = 0;
  while (length < text.length) {
    const codePoint = text.codePointAt(length) as number;
    const size = utf8Size(codePoint);
    if (bytes + size > maxBytes) break;
    bytes += size;
    length += codePoint > 0xffff ? 2 : 1;
  }
  return { length, bytes };
}

/** A lone surrogate has the three bytes of U+FFFD, which encoders write in its place. */
function utf8Size(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
