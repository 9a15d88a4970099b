/**
 * Checks the images of a message: type, size, secrets.
 *
 * I1. Type and dimensions are read from the first bytes; other files, and a wrong `mime_type`, are refused. Whether the rest
 *     is a complete picture is left to the provider.
 * I2. Base64 must be canonical, so that an image has one body and one hash.
 * I3. An image that holds a loaded secret is refused: it cannot be redacted like text (P-5.4).
 * I4. A refusal names the position in the list, never the content.
 */
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { PATTERN_KINDS } from "../../kernel/redaction/secret-patterns.ts";
import { type ImageFacts, imageFacts } from "../../runtime/model/image-facts.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { FileItem, MediaItem } from "./run-request.ts";

const MAX_IMAGES = 8;
/** Five million characters of Base64, which every provider accepts. */
export const MAX_IMAGE_BYTES = 3_750_000;
const MAX_TOTAL_BYTES = 8_388_608;

export interface ReadImage extends ImageFacts {
  readonly bytes: number;
  /** Base64. */
  readonly data: string;
  readonly uploadRef: string | null;
}

export type ReadMedia = { readonly ok: true; readonly images: readonly ReadImage[] } | Refusal;

export function readMedia(media: readonly MediaItem[], redactor: Redactor): ReadMedia {
  if (media.length > MAX_IMAGES) {
    return refuse("payload.too_large", `media holds ${media.length} images; at most ${MAX_IMAGES} are accepted`);
  }
  // From the length of Base64, before anything is decoded.
  const total = media.reduce((sum, { data }) => sum + bytesOf(data), 0);
  if (total > MAX_TOTAL_BYTES) {
    return refuse(
      "payload.too_large",
      `the images have ${total} bytes; at most ${MAX_TOTAL_BYTES} are accepted together`,
    );
  }
  const images: ReadImage[] = [];
  for (const [index, item] of media.entries()) {
    const read = readItem(item, `media[${index}]`, redactor);
    if ("code" in read) return read;
    images.push(read);
  }
  return { ok: true, images };
}

function readItem({ mimeType, data, ref }: MediaItem, where: string, redactor: Redactor): ReadImage | Refusal {
  const bytes = bytesOf(data);
  if (bytes > MAX_IMAGE_BYTES) {
    return refuse("payload.too_large", `${where} has ${bytes} bytes; an image may have ${MAX_IMAGE_BYTES}`);
  }
  const file = Buffer.from(data, "base64");
  if (file.length === 0 || file.toString("base64") !== data) {
    return refuse("invalid.request", `${where}.data is not Base64 (RFC 4648, with padding)`);
  }
  const facts = imageFacts(file);
  if (facts === null) return refuse("invalid.request", `${where}.data is not a PNG, JPEG, GIF or WebP image`);
  if (facts.mimeType !== mimeType) {
    return refuse("invalid.request", `${where} is ${facts.mimeType}; its mime_type says otherwise`);
  }
  // Any picture of a few megabytes holds bytes that look like a secret; only loaded secrets count.
  const { found } = redactor.redactText(data);
  if (found.some((name) => !PATTERN_KINDS.includes(name))) {
    return refuse("invalid.request", `${where} holds a secret; leave it out`);
  }
  return { ...facts, bytes, data, uploadRef: ref ?? null };
}

/** Decoded size. */
function bytesOf(data: string): number {
  return Buffer.byteLength(data, "base64");
}

/** The message says of a file in the workspace where it is. */
export function fileNote(path: string, { type, bytes }: Pick<FileItem, "type" | "bytes">): string {
  return `[file: ${path}, ${type}, ${Math.ceil(bytes / 1024)} KB]`;
}

/** Later runs of the session see this in its place. */
export function imageNote({ mimeType, bytes }: { readonly mimeType: string; readonly bytes: number }): string {
  return `[image: ${mimeType}, ${Math.ceil(bytes / 1024)} KB]`;
}
