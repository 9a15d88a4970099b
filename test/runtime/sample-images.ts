/** Image files with a true header and arbitrary bytes for the picture. */
import type { MediaItem } from "../../src/assistant/runs/run-request.ts";
import { type ImageType, imageFacts } from "../../src/runtime/model/image-facts.ts";

/** A whole file: one pixel. */
export const DOT_PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);

type Draw = (width: number, height: number, picture?: Uint8Array) => Buffer;

const NOTHING = Buffer.alloc(0);

export const png: Draw = (width, height, picture = NOTHING) => {
  const header = Buffer.alloc(33);
  header.write("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", "latin1");
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return Buffer.concat([header, picture]);
};

/** With a thumbnail before the frame, as cameras write it, and padding before its marker. */
export const jpeg: Draw = (width, height, picture = NOTHING) => {
  const thumbnail = Buffer.from([0xff, 0xe0, 0, 8, 0xff, 0xc0, 1, 2, 3, 4]);
  const frame = Buffer.from([0xff, 0xff, 0xc2, 0, 11, 8, 0, 0, 0, 0, 1, 0, 0, 0]);
  frame.writeUInt16BE(height, 6);
  frame.writeUInt16BE(width, 8);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), thumbnail, frame, picture]);
};

const gif: Draw = (width, height, picture = NOTHING) => {
  const header = Buffer.alloc(13);
  header.write("GIF89a", "latin1");
  header.writeUInt16LE(width, 6);
  header.writeUInt16LE(height, 8);
  return Buffer.concat([header, picture]);
};

/** A lossy one. */
export const webp: Draw = (width, height, picture = NOTHING) => {
  const file = riff("VP8 ", Buffer.from([0, 0, 0, 0x9d, 1, 0x2a, 0, 0, 0, 0]), picture);
  file.writeUInt16LE(width, 26);
  file.writeUInt16LE(height, 28);
  return file;
};

const losslessWebp: Draw = (width, height, picture = NOTHING) => {
  const file = riff("VP8L", Buffer.from([0x2f, 0, 0, 0, 0, 0, 0, 0, 0, 0]), picture);
  file.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21);
  return file;
};

const extendedWebp: Draw = (width, height, picture = NOTHING) => {
  const file = riff("VP8X", Buffer.alloc(10), picture);
  file.writeUIntLE(width - 1, 24, 3);
  file.writeUIntLE(height - 1, 27, 3);
  return file;
};

export const DRAWN: readonly (readonly [ImageType, Draw])[] = [
  ["image/png", png],
  ["image/jpeg", jpeg],
  ["image/gif", gif],
  ["image/webp", webp],
  ["image/webp", losslessWebp],
  ["image/webp", extendedWebp],
];

export function mediaOf(file: Buffer): MediaItem {
  const facts = imageFacts(file);
  if (facts === null) throw new Error("not an image");
  return { type: "image", mimeType: facts.mimeType, data: file.toString("base64") };
}

function riff(kind: string, head: Buffer, picture: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`RIFF\0\0\0\0WEBP${kind}\0\0\0\0`, "latin1"), head, picture]);
}
