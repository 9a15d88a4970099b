/**
 * Type and pixel size of an image, from its header.
 *
 * Total: any bytes give facts or null, and nothing beyond the header is decoded. The bytes decide the type, not the
 * file's name. A file that ends before its size is null: no model could show it.
 */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

export interface ImageFacts extends ImageSize {
  readonly mimeType: ImageType;
}

const READERS: Readonly<Record<ImageType, (file: Buffer) => ImageSize | null>> = {
  "image/png": readPng,
  "image/jpeg": readJpeg,
  "image/gif": readGif,
  "image/webp": readWebp,
};

export function imageFacts(bytes: Uint8Array): ImageFacts | null {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const mimeType of IMAGE_TYPES) {
    const size = READERS[mimeType](file);
    if (size !== null) return size.width > 0 && size.height > 0 ? { mimeType, ...size } : null;
  }
  return null;
}

function hasAt(file: Buffer, at: number, text: string): boolean {
  return file.toString("latin1", at, at + text.length) === text;
}

function readPng(file: Buffer): ImageSize | null {
  if (file.length < 24 || !hasAt(file, 0, "\x89PNG\r\n\x1a\n") || !hasAt(file, 12, "IHDR")) return null;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

function readGif(file: Buffer): ImageSize | null {
  if (file.length < 10 || !(hasAt(file, 0, "GIF87a") || hasAt(file, 0, "GIF89a"))) return null;
  return { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
}

/** Walks to the frame header, FFC0 to FFCF without the three table segments. */
function readJpeg(file: Buffer): ImageSize | null {
  if (!hasAt(file, 0, "\xff\xd8\xff")) return null;
  for (let at = 2; at + 9 <= file.length; ) {
    const kind = file.readUInt8(at + 1);
    if (file.readUInt8(at) !== 0xff) return null;
    // Padding before a marker.
    if (kind === 0xff) {
      at += 1;
      continue;
    }
    if (kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind)) {
      return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
    }
    at += 2 + file.readUInt16BE(at + 2);
  }
  return null;
}

function readWebp(file: Buffer): ImageSize | null {
  if (file.length < 30 || !hasAt(file, 0, "RIFF") || !hasAt(file, 8, "WEBP")) return null;
  switch (file.toString("latin1", 12, 16)) {
    case "VP8 ":
      if (!hasAt(file, 23, "\x9d\x01\x2a")) return null;
      return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      if (!hasAt(file, 20, "\x2f")) return null;
      const bits = file.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}
