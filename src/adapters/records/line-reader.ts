/**
 * Reads the lines of a file, or of its segments, one after the other and in bounded memory. Byte for byte: a line is a Latin-1
 * string, so that bytes that are no UTF-8 differ from all others. `park` frees file and memory; reading goes on where it was.
 */
import { closeSync, constants, openSync, readSync } from "node:fs";

export interface FileLine {
  readonly text: string;
  /** Without a line break it is torn: the last of its file. */
  readonly isWhole: boolean;
  /** From 1, in its segment. */
  readonly number: number;
  readonly segment: number;
}

const CHUNK_BYTES = 64 * 1024;
/** No line of ours is that long: pieces of it count as lines. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const LINE_BREAK = 0x0a;

interface Place {
  readonly segment: number;
  /** Of the next line, from 1. */
  readonly number: number;
  readonly offset: number;
}

export class LineReader {
  readonly #paths: readonly string[];
  #file: number | null = null;
  #taken: Place = { segment: 0, number: 1, offset: 0 };
  #read: Place = this.#taken;
  /** Read and not taken. */
  #lines: FileLine[] = [];
  #rest: Buffer = Buffer.alloc(0);

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** The `ahead`-th line from here; null beyond the end, or where there is no file. */
  peek(ahead = 0): FileLine | null {
    while (this.#lines.length <= ahead && this.#read.segment < this.#paths.length) this.#readOn();
    return this.#lines[ahead] ?? null;
  }

  take(): FileLine | null {
    const line = this.peek();
    if (line === null) return null;
    this.#lines.shift();
    const { segment, number, text, isWhole } = line;
    const before = segment === this.#taken.segment ? this.#taken.offset : 0;
    this.#taken = { segment, number: number + 1, offset: before + text.length + (isWhole ? 1 : 0) };
    return line;
  }

  /** Where the next line is, or would be. */
  get place(): Pick<FileLine, "segment" | "number"> {
    return this.peek() ?? this.#taken;
  }

  park(): void {
    this.#close();
    this.#lines = [];
    this.#rest = Buffer.alloc(0);
    this.#read = this.#taken;
  }

  #readOn(): void {
    const { segment, offset } = this.#read;
    this.#file ??= openOrNull(this.#paths[segment] ?? "");
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const length = this.#file === null ? 0 : readSync(this.#file, chunk, 0, CHUNK_BYTES, offset);
    this.#read = { ...this.#read, offset: offset + length };
    const bytes = Buffer.concat([this.#rest, chunk.subarray(0, length)]);
    let start = 0;
    for (let end = bytes.indexOf(LINE_BREAK); end >= 0; end = bytes.indexOf(LINE_BREAK, start)) {
      this.#add(bytes.subarray(start, end), true);
      start = end + 1;
    }
    this.#rest = bytes.subarray(start);
    if (length > 0 && this.#rest.length < MAX_LINE_BYTES) return;
    if (this.#rest.length > 0) this.#add(this.#rest, false);
    this.#rest = Buffer.alloc(0);
    if (length > 0) return;
    this.#close();
    this.#read = { segment: segment + 1, number: 1, offset: 0 };
  }

  #add(bytes: Buffer, isWhole: boolean): void {
    const { segment, number } = this.#read;
    this.#lines.push({ text: bytes.toString("latin1"), isWhole, number, segment });
    this.#read = { ...this.#read, number: number + 1 };
  }

  #close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}

export function readLines(path: string): readonly FileLine[] {
  const reader = new LineReader([path]);
  const lines: FileLine[] = [];
  for (let line = reader.take(); line !== null; line = reader.take()) lines.push(line);
  return lines;
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    // A link in its place is none of our files.
    if (["ENOENT", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}
