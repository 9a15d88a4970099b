/**
 * The body of an answer, unpacked, as much of it as is wanted.
 *
 * B1. What is counted decides, not what a header claims: no more than MAX_BODY_BYTES are kept, and no more than that are
 *     taken from the wire, however little they unpack to. A longer body is cut, and said to be.
 * B2. Unpacking goes piece by piece: a small body that unpacks to a large one never exists whole.
 * B3. One packing, of those that were offered.
 */
import { pipeline, type Readable } from "node:stream";
import { constants, createBrotliDecompress, createGunzip } from "node:zlib";
import { ToolFailure } from "../tool-failure.ts";

export interface Body {
  readonly bytes: Uint8Array;
  readonly isCut: boolean;
}

export const OFFERED_PACKINGS = "gzip, br";
export const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** Lenient about the end, since a body may have been cut on the wire. */
const UNPACKERS = {
  gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

export async function readBody(raw: Readable, packing: string): Promise<Body> {
  if (packing === "identity") return await gather(raw);
  if (packing !== "gzip" && packing !== "br") {
    throw new ToolFailure("invalid.request", "The answer is packed in a way that was not asked for.", {
      details: { packing: packing.slice(0, 64).toWellFormed() },
    });
  }
  const taken = { isCut: false };
  const unpacker = UNPACKERS[packing]();
  // What fails on the way also ends the unpacker, whose reader hears of it.
  const unpacked = pipeline(
    raw,
    (source) => takeUpTo(source, taken),
    unpacker,
    () => undefined,
  );
  const { bytes, isCut } = await gather(unpacked);
  return { bytes, isCut: isCut || taken.isCut };
}

async function* takeUpTo(source: AsyncIterable<Buffer>, taken: { isCut: boolean }): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      taken.isCut = true;
      return;
    }
    yield chunk;
  }
}

async function gather(source: AsyncIterable<Buffer>): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    const rest = MAX_BODY_BYTES - size;
    chunks.push(chunk.subarray(0, rest));
    if (chunk.length > rest) return { bytes: Buffer.concat(chunks), isCut: true };
    size += chunk.length;
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}
