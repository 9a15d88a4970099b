/** Reads a text from standard input, up to a limit. */
import { isUtf8 } from "node:buffer";
import type { InputStream } from "../adapters/terminal/terminal-approver.ts";
import { BootError, usageError } from "./boot-error.ts";

/** As much as a request to the gateway holds. */
const MAX_BYTES = 1024 * 1024;

/** Without the last line end, which `echo` and editors add. */
export async function readStandardInput(stdin: InputStream): Promise<string> {
  const bytes = await readToEnd(stdin);
  if (!isUtf8(bytes)) {
    throw new BootError("invalid.request", "standard input is not valid UTF-8", "Write it in UTF-8. Nothing was done.");
  }
  const message = bytes.toString().replace(/\r?\n$/, "");
  if (message.trim() !== "") return message;
  throw usageError("standard input holds no message", "Pipe one in: echo list files | surety run -");
}

function readToEnd(stdin: InputStream): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  const read = (chunk: Buffer | string): void => {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (size <= MAX_BYTES) return;
    stdin.off("data", read);
    stdin.pause();
    reject(new BootError("payload.too_large", `standard input holds more than ${MAX_BYTES} bytes`, "Make it smaller."));
  };
  stdin.on("data", read);
  stdin.on("end", () => resolve(Buffer.concat(chunks)));
  stdin.ref?.();
  return promise;
}
