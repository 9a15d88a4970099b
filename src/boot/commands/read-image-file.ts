/**
 * Reads an image that goes with a message. Its type comes from its bytes, not its name; a file that is too large, or not a
 * regular file, is not read.
 */
import { constants, type FileHandle, open } from "node:fs/promises";
import { MAX_IMAGE_BYTES } from "../../assistant/runs/read-media.ts";
import type { MediaItem } from "../../assistant/runs/run-request.ts";
import { imageFacts } from "../../runtime/model/image-facts.ts";
import { systemCodeOf, usageError } from "../boot-error.ts";

export async function readImageFile(path: string): Promise<MediaItem> {
  const bytes = await readBounded(path);
  const facts = imageFacts(bytes);
  if (facts === null) throw unusable(path, "is not a PNG, JPEG, GIF or WebP image", "Convert it, or leave it out.");
  return { type: "image", mimeType: facts.mimeType, data: bytes.toString("base64") };
}

async function readBounded(path: string): Promise<Buffer> {
  let file: FileHandle | null = null;
  try {
    // Non-blocking: opening a pipe without a writer would hang.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile()) throw unusable(path, "is not a file", "Name an image file.");
    if (facts.size > MAX_IMAGE_BYTES) {
      throw unusable(path, `has ${facts.size} bytes`, `Make it smaller: the limit is ${MAX_IMAGE_BYTES} bytes.`);
    }
    return await file.readFile();
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === null) throw error;
    throw unusable(path, code === "ENOENT" ? "does not exist" : `cannot be read (${code})`, "Check its name.");
  } finally {
    await file?.close();
  }
}

function unusable(path: string, what: string, hint: string): Error {
  return usageError(`--image ${path} ${what}`, hint);
}
