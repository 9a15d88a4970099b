/**
 * Reads an image that goes with a message. Its type comes from its bytes, not its name.
 */
import { MAX_IMAGE_BYTES } from "../../assistant/runs/read-media.ts";
import type { MediaItem } from "../../assistant/runs/run-request.ts";
import { imageFacts } from "../../runtime/model/image-facts.ts";
import { usageError } from "../boot-error.ts";
import { readBoundedFile, UnreadableFile } from "../read-bounded-file.ts";

export async function readImageFile(path: string): Promise<MediaItem> {
  const bytes = await readImage(path);
  const facts = imageFacts(bytes);
  if (facts === null) throw unusable(path, "is not a PNG, JPEG, GIF or WebP image", "Convert it, or leave it out.");
  return { type: "image", mimeType: facts.mimeType, data: bytes.toString("base64") };
}

async function readImage(path: string): Promise<Buffer> {
  try {
    const bytes = await readBoundedFile(path, MAX_IMAGE_BYTES);
    if (bytes !== null) return bytes;
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw unusable(path, `cannot be read (${error.why})`, `Name an image file of at most ${MAX_IMAGE_BYTES} bytes.`);
  }
  throw unusable(path, "does not exist", "Check its name.");
}

function unusable(path: string, what: string, hint: string): Error {
  return usageError(`--image ${path} ${what}`, hint);
}
