/**
 * A file as an image that goes with a message.
 *
 * I1. What it is, its bytes say, not its name. Anything else is a usage error that names the file.
 * I2. Of a file that is too large, or none at all, not a byte is read.
 */
import { constants, type FileHandle, open } from "node:fs/promises";
import { MAX_IMAGE_BYTES } from "../../assistant/read-media.ts";
import type { MediaItem } from "../../assistant/runs/run-request.ts";
import { imageFacts } from "../../runtime/model/image-facts.ts";
import { systemCodeOf, usageError } from "../boot-error.ts";

export async function readImageFile(path: string): Promise<MediaItem> {
  const bytes = await readBounded(path);
  const facts = imageFacts(bytes);
  if (facts === null) throw unusable(path, "is no PNG, JPEG, GIF or WebP image", "Convert it, or leave it out.");
  return { type: "image", mimeType: facts.mimeType, data: bytes.toString("base64") };
}

async function readBounded(path: string): Promise<Buffer> {
  let file: FileHandle | null = null;
  try {
    // A pipe without a writer would be waited for.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile()) throw unusable(path, "is not a file", "Name the image's file.");
    if (facts.size > MAX_IMAGE_BYTES) {
      throw unusable(path, `has ${facts.size} bytes`, `Make it smaller: an image may have ${MAX_IMAGE_BYTES}.`);
    }
    return await file.readFile();
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === null) throw error;
    throw unusable(path, code === "ENOENT" ? "is not there" : `cannot be read (${code})`, "Check its name.");
  } finally {
    await file?.close();
  }
}

function unusable(path: string, what: string, hint: string): Error {
  return usageError(`--image ${path} ${what}`, hint);
}
