/**
 * Decodes a page: by its byte order mark, else the charset of its header, else the one it declares, else UTF-8. Undecodable
 * bytes become U+FFFD; an unknown charset is ignored.
 */
const BYTE_ORDER_MARKS: readonly (readonly [bytes: readonly number[], charset: string])[] = [
  [[0xef, 0xbb, 0xbf], "utf-8"],
  [[0xfe, 0xff], "utf-16be"],
  [[0xff, 0xfe], "utf-16le"],
];
/** The HTML standard looks for a charset this far. */
const PRESCAN_BYTES = 1024;
const SENT = /;\s*charset\s*=\s*["']?([\w.:-]+)/i;
const NAMED = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)|<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]+)/i;

export function decodeText(bytes: Uint8Array, contentType: string | null): string {
  const marked = BYTE_ORDER_MARKS.find(([mark]) => mark.every((byte, index) => bytes[index] === byte))?.[1];
  const sent = SENT.exec(contentType ?? "")?.[1];
  const decoder = decoderFor(marked) ?? decoderFor(sent) ?? decoderFor(namedIn(bytes)) ?? new TextDecoder();
  return decoder.decode(bytes);
}

function namedIn(bytes: Uint8Array): string | undefined {
  const beginning = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString("latin1");
  const match = NAMED.exec(beginning);
  const charset = match?.[1] ?? match?.[2];
  // A declaration that reads as single bytes proves that the page is not UTF-16.
  return charset?.toLowerCase().startsWith("utf-16") ? "utf-8" : charset;
}

function decoderFor(charset: string | undefined): TextDecoder | null {
  if (charset === undefined) return null;
  try {
    return new TextDecoder(charset);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
