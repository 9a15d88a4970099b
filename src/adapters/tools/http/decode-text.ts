/**
 * Bytes of a page as text: by its byte order mark, else the charset it was sent with, else the one it names itself, else
 * UTF-8. What a charset cannot read becomes U+FFFD; a charset nobody knows counts as not named.
 */
const BYTE_ORDER_MARKS: readonly (readonly [bytes: readonly number[], charset: string])[] = [
  [[0xef, 0xbb, 0xbf], "utf-8"],
  [[0xfe, 0xff], "utf-16be"],
  [[0xff, 0xfe], "utf-16le"],
];
/** Where the standard has a page name its charset. */
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
  // A page whose name for its charset can be read byte by byte is not in UTF-16, whatever it says.
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
