/**
 * Bytes to text, as if the whole had been decoded at once.
 *
 * U1. A sequence that is cut off but valid so far is held back; its end, or the end of the stream, decides.
 * U2. Invalid bytes become U+FFFD as the Encoding standard has it: never an exception, never an overlong "..".
 * U3. A byte order mark is text like any other.
 */
import type { Transducer } from "../../vocabulary/transducer.ts";

/** Without the `stream` option a decoder keeps nothing between calls. */
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

export const utf8Decoder: Transducer<Uint8Array, string, Uint8Array> = {
  start: () => new Uint8Array(0),
  push(held, chunk) {
    const bytes = new Uint8Array(held.length + chunk.length);
    bytes.set(held);
    bytes.set(chunk, held.length);
    const ready = bytes.length - incompleteLength(bytes);
    return [bytes.slice(ready), DECODER.decode(bytes.subarray(0, ready))];
  },
  finish: (held) => DECODER.decode(held),
};

/** How many bytes at the end are the start of a sequence that may still become valid: 0 to 3. */
function incompleteLength(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length += 1) {
    const tail = bytes.subarray(bytes.length - length);
    const [lead = 0, second] = tail;
    if (isContinuation(lead)) continue;
    return length < sequenceLength(lead) && (second === undefined || mayFollow(lead, second)) ? length : 0;
  }
  return 0;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 1;
}

/** The second byte excludes overlong forms, surrogates and what lies beyond U+10FFFF. */
function mayFollow(lead: number, second: number): boolean {
  switch (lead) {
    case 0xe0:
      return second >= 0xa0;
    case 0xed:
      return second <= 0x9f;
    case 0xf0:
      return second >= 0x90;
    case 0xf4:
      return second <= 0x8f;
    default:
      return true;
  }
}
