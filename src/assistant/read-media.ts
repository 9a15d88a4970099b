/**
 * Images that come with a message, from whichever door: are they what they say, and not too much?
 *
 * I1. The type is told by the first bytes of the file, and so are its measures. What does not begin as a PNG, JPEG, GIF or
 *     WebP is refused, and so is one under another type's name. What follows the head is not looked at: whether it is a
 *     whole picture its provider finds out.
 * I2. Base64 is taken in its one canonical form, so that an image has one body and one hash.
 * I3. An image that holds a loaded secret is refused: it cannot be redacted like a text (P-5.4).
 * I4. A refusal names the place in the list, never what stands there.
 */
import type { Redactor } from "../kernel/redaction/redact.ts";
import { PATTERN_KINDS } from "../kernel/redaction/secret-patterns.ts";
import { type ImageFacts, imageFacts } from "../runtime/model/image-facts.ts";
import type { Refusal } from "../runtime/operations/operation.ts";
import type { MediaItem } from "./runs/run-request.ts";

const MAX_IMAGES = 8;
/** Five million characters of Base64, as much as every provider takes. */
export const MAX_IMAGE_BYTES = 3_750_000;
const MAX_TOTAL_BYTES = 8_388_608;

export interface ReadImage extends ImageFacts {
  readonly bytes: number;
  /** Base64. */
  readonly data: string;
}

export type ReadMedia = { readonly ok: true; readonly images: readonly ReadImage[] } | Refusal;

export function readMedia(media: readonly MediaItem[], redactor: Redactor): ReadMedia {
  if (media.length > MAX_IMAGES) {
    return refuse("payload.too_large", `media holds ${media.length} images; at most ${MAX_IMAGES} are taken`);
  }
  // Before anything is decoded: the length of Base64 says as much.
  const total = media.reduce((sum, { data }) => sum + bytesOf(data), 0);
  if (total > MAX_TOTAL_BYTES) {
    return refuse("payload.too_large", `the images have ${total} bytes; at most ${MAX_TOTAL_BYTES} are taken together`);
  }
  const images: ReadImage[] = [];
  for (const [index, item] of media.entries()) {
    const read = readItem(item, `media[${index}]`, redactor);
    if ("code" in read) return read;
    images.push(read);
  }
  return { ok: true, images };
}

function readItem({ mimeType, data }: MediaItem, where: string, redactor: Redactor): ReadImage | Refusal {
  const bytes = bytesOf(data);
  if (bytes > MAX_IMAGE_BYTES) {
    return refuse("payload.too_large", `${where} has ${bytes} bytes; an image may have ${MAX_IMAGE_BYTES}`);
  }
  const file = Buffer.from(data, "base64");
  if (file.length === 0 || file.toString("base64") !== data) {
    return refuse("invalid.request", `${where}.data is not Base64 (RFC 4648, with padding)`);
  }
  const facts = imageFacts(file);
  if (facts === null) return refuse("invalid.request", `${where}.data is no PNG, JPEG, GIF or WebP image`);
  if (facts.mimeType !== mimeType) {
    return refuse("invalid.request", `${where} is ${facts.mimeType}; its mime_type says otherwise`);
  }
  // Shapes that merely look like secrets are in any picture of a few megabytes.
  const { found } = redactor.redactText(data);
  if (found.some((name) => !PATTERN_KINDS.includes(name))) {
    return refuse("invalid.request", `${where} holds a secret; leave it out`);
  }
  return { ...facts, bytes, data };
}

/** Of what Base64 stands for, where it is Base64. */
function bytesOf(data: string): number {
  return Buffer.byteLength(data, "base64");
}

/** What later runs of the session are shown in its place. */
export function imageNote({ mimeType, bytes }: { readonly mimeType: string; readonly bytes: number }): string {
  return `[image: ${mimeType}, ${Math.ceil(bytes / 1024)} KB]`;
}

function refuse(code: Refusal["code"], message: string): Refusal {
  return { ok: false, code, message };
}
