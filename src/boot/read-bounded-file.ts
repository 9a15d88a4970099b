/**
 * Reads a file of the operator's into memory.
 *
 * B1. Only a regular file is read, also behind a link: a pipe would never answer, and a device may never end.
 * B2. At most `maxBytes` are held, also of a file that grows while it is read.
 * B3. A link to nothing is not an absent file: the operator meant something to be there.
 */
import { constants, type FileHandle, lstat, open } from "node:fs/promises";
import { systemCodeOf } from "./boot-error.ts";

const CHUNK_BYTES = 64 * 1024;

export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
  /** A system's code such as `EACCES`, or a clause: "it is not a regular file". */
  readonly why: string;

  constructor(why: string, options?: ErrorOptions) {
    super(why, options);
    this.why = why;
  }
}

/** Null when there is no such file; every other failure is an `UnreadableFile`. */
export async function readBoundedFile(path: string, maxBytes: number): Promise<Buffer | null> {
  let file: FileHandle | null = null;
  try {
    // Non-blocking: opening a pipe without a writer would hang.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    const facts = await file.stat();
    if (!facts.isFile()) throw new UnreadableFile("it is not a regular file");
    if (facts.size > maxBytes) throw tooLarge(maxBytes);
    return await readAtMost(file, maxBytes);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === null) throw error;
    if (code === "ENOENT") {
      if (!(await isLink(path))) return null;
      throw new UnreadableFile("it is a link to a file that does not exist", { cause: error });
    }
    throw new UnreadableFile(code, { cause: error });
  } finally {
    await file?.close();
  }
}

async function readAtMost(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let length = 0; length <= maxBytes; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES));
    if (bytesRead === 0) return Buffer.concat(chunks);
    chunks.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): UnreadableFile {
  return new UnreadableFile(`it is larger than ${maxBytes} bytes`);
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (systemCodeOf(error) !== null) return false;
    throw error;
  }
}
