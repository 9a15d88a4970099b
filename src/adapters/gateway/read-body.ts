/**
 * A request's body, from bytes to JSON.
 *
 * B1. Bytes are counted as they arrive; a Content-Length over the limit is refused before any.
 * B2. A refused body is read and discarded, up to a bound, so that the caller can read the answer.
 * B3. Strict UTF-8, strict JSON, no compression.
 */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type JsonValue, parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";

export const MAX_BODY_BYTES = 1_048_576;
const MAX_DISCARDED_BYTES = 128 * MAX_BODY_BYTES;
const FIRST_BUFFER_BYTES = 4096;

export async function readJson(incoming: IncomingMessage, head: Head, maxBytes: number): Promise<JsonValue> {
  const parsed = parseJson(await readText(incoming, head, maxBytes));
  if (parsed.ok) return parsed.value;
  throw invalidRequest(`the body is not valid JSON: ${parsed.problem} (at character ${parsed.at})`);
}

export async function readText(incoming: IncomingMessage, head: Head, maxBytes = MAX_BODY_BYTES): Promise<string> {
  const bytes = await readBody(incoming, head, maxBytes);
  if (!isUtf8(bytes)) throw invalidRequest("the body is not valid UTF-8");
  return bytes.toString("utf8");
}

export async function readBody(incoming: IncomingMessage, head: Head, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  // Content-Type is ignored: `curl -d` claims a form. The token keeps real forms out.
  if (!["", "identity"].includes(head["content-encoding"] ?? "")) {
    throw new HttpError("invalid.request", "send the body without Content-Encoding", { status: 415 });
  }
  if (Number(head["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  // Without a body the stream emits nothing, not even its end.
  return hasBody(head) ? await readBytes(incoming, maxBytes) : Buffer.alloc(0);
}

export function hasBody(head: Head): boolean {
  return head["content-length"] !== undefined || head["transfer-encoding"] !== undefined;
}

export function discardBody(incoming: IncomingMessage): void {
  let discarded = 0;
  incoming.on("data", (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) incoming.destroy();
  });
}

async function readBytes(incoming: IncomingMessage, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  // One growing buffer: a body sent byte by byte must not cost an object per byte.
  let bytes = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  let size = 0;
  try {
    // Not destroyed when refused: the rest is discarded.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      const grown = size + chunk.length;
      if (grown > maxBytes) throw tooLarge(maxBytes);
      if (grown > bytes.length) bytes = Buffer.concat([bytes.subarray(0, size)], Math.max(grown, 2 * bytes.length));
      chunk.copy(bytes, size);
      size = grown;
    }
  } catch (error) {
    throw error instanceof HttpError ? error : invalidRequest("the body ended too early");
  }
  return bytes.subarray(0, size);
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError("payload.too_large", `a body holds at most ${maxBytes} bytes`);
}
