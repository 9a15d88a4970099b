/** A text in UTF-8, block by block: bytes are read much faster than the characters, UTF-16 units, of a string. */
const ENCODER = new TextEncoder();

/** Filled and read within one synchronous call, so nobody sees what another left here. */
export const TEXT_BLOCK = new Uint8Array(8192);

/** How many characters of the text from there on fit in, and how many bytes they are. No character fits in part. */
export function fillBlock(text: string, from: number): { readonly read: number; readonly written: number } {
  return ENCODER.encodeInto(from === 0 ? text : text.slice(from), TEXT_BLOCK);
}

/** How many characters start with the bytes from `from` to before `to`. */
export function unitsInBlock(from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at += 1) {
    const byte = TEXT_BLOCK[at] as number;
    if (byte < 0x80 || byte >= 0xc0) count += byte < 0xf0 ? 1 : 2;
  }
  return count;
}
