/**
 * Reads the body of an answer, bounded on the wire and after decompression, since headers are not trusted.
 * Decompression streams, so a small body never expands in memory. `isCut` says that there was more.
 */
import { pipeline, type Readable } from "node:stream";
import { constants, createBrotliDecompress, createGunzip } from "node:zlib";
import { ToolFailure } from "../tool-failure.ts";

export interface Body {
  readonly bytes: Uint8Array;
  readonly isCut: boolean;
}

export const ACCEPTED_ENCODINGS = "gzip, br";
export const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** Lenient about the end, since a body may be cut on the wire. */
const DECODERS = {
  gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

export async function readBody(raw: Readable, encoding: string): Promise<Body> {
  if (encoding === "identity") return await collect(raw);
  if (encoding !== "gzip" && encoding !== "br") {
    throw new ToolFailure("invalid.request", "The server used a content encoding that was not accepted.", {
      details: { encoding: encoding.slice(0, 64).toWellFormed() },
    });
  }
  const taken = { isCut: false };
  const decoder = DECODERS[encoding]();
  // An error in the pipeline also ends the decoder, and its reader throws it.
  const decoded = pipeline(
    raw,
    (source) => takeUpTo(source, taken),
    decoder,
    () => undefined,
  );
  const { bytes, isCut } = await collect(decoded);
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

async function collect(source: AsyncIterable<Buffer>): Promise<Body> {
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
