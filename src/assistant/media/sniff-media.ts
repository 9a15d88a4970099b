/**
 * What a file is, from its bytes alone: what its sender says of it counts for nothing.
 *
 * A file of several types at once is the first that its head says; it is stored and shown as that and nothing else. Text is
 * what is valid UTF-8 without control characters, whatever language it is written in.
 */
import { isUtf8 } from "node:buffer";
import { imageFacts } from "../../runtime/model/image-facts.ts";
import type { MediaType } from "../../runtime/ports/stored-media.ts";

export type Sniffed = { readonly ok: true; readonly type: MediaType } | { readonly ok: false; readonly is: string };

export function sniffMedia(bytes: Buffer): Sniffed {
  const image = imageFacts(bytes);
  if (image !== null) return { ok: true, type: image.mimeType };
  if (/^%PDF-\d\.\d/.test(head(bytes))) return { ok: true, type: "application/pdf" };
  const known = OTHERS.find(({ at, mark }) => bytes.toString("latin1", at, at + mark.length) === mark);
  if (known !== undefined) return { ok: false, is: known.is };
  return isText(bytes) ? { ok: true, type: "text/plain" } : { ok: false, is: "of no type that is known" };
}

/** Refused by name, so that a person knows which file it was. */
const OTHERS = [
  { is: "a ZIP archive or an office document", at: 0, mark: "PK\x03\x04" },
  { is: "a GZIP archive", at: 0, mark: "\x1f\x8b" },
  { is: "an executable", at: 0, mark: "\x7fELF" },
  { is: "an executable", at: 0, mark: "MZ\x90" },
  { is: "a video, an audio file or a HEIC image", at: 4, mark: "ftyp" },
  { is: "an audio file", at: 0, mark: "ID3" },
  { is: "an Ogg file", at: 0, mark: "OggS" },
  { is: "a RIFF file, such as WAV", at: 0, mark: "RIFF" },
  { is: "a TIFF image", at: 0, mark: "II*\x00" },
  { is: "a TIFF image", at: 0, mark: "MM\x00*" },
  { is: "a damaged PNG image", at: 0, mark: "\x89PNG" },
  { is: "a damaged JPEG image", at: 0, mark: "\xff\xd8\xff" },
  { is: "a damaged GIF image", at: 0, mark: "GIF8" },
] as const;

function head(bytes: Buffer): string {
  return bytes.toString("latin1", 0, 16);
}

function isText(bytes: Buffer): boolean {
  return bytes.length > 0 && isUtf8(bytes) && !/[^\P{Cc}\t\n\r\f]/u.test(bytes.toString("utf8"));
}
