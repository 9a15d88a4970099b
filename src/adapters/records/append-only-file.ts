/**
 * A file of lines that is only ever appended to.
 *
 * A1. Every line is whole: a tail without a line break, left by a crash, is moved aside (`.torn`) before the next append.
 * A2. A file that would grow beyond its limit becomes a numbered segment, and a new one begins.
 * A3. Mode 0600, its directory 0700; a link in its place is refused.
 */
import { constants } from "node:fs";
import { appendFile, type FileHandle, mkdir, open, readFile, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
const PRIVATE = 0o600;
const LINE_BREAK = 10;

export class AppendOnlyFile {
  readonly path: string;
  readonly #maxBytes: number;
  #isMended = false;

  constructor(path: string, maxBytes: number) {
    this.path = path;
    this.#maxBytes = maxBytes;
  }

  /** What the newest segments hold: null when there is none. */
  async read(): Promise<string | null> {
    await this.#mend();
    const current = await readOrNull(this.path);
    const earlier = await readOrNull(`${this.path}.${(await this.#segments()) - 1}`);
    return current === null && earlier === null ? null : `${earlier ?? ""}${current ?? ""}`;
  }

  /** Every whole line of the newest segment, one after the other. */
  async *lines(): AsyncIterable<string> {
    await this.#mend();
    const file = await open(this.path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(nullIfMissing);
    if (file !== null) yield* file.readLines();
  }

  async append(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    await this.#mend();
    const text = lines.map((line) => `${line}\n`).join("");
    const size = (await stat(this.path).catch(nullIfMissing))?.size ?? 0;
    if (size > 0 && size + Buffer.byteLength(text) > this.#maxBytes) {
      await rename(this.path, `${this.path}.${await this.#segments()}`);
    }
    await using file = await this.#open();
    await file.appendFile(text);
  }

  /** The paths of all segments that there are or may be, and of what was moved aside. */
  async paths(): Promise<readonly string[]> {
    const segments = Array.from({ length: (await this.#segments()) - 1 }, (_, at) => `${this.path}.${at + 1}`);
    return [...segments, this.path, `${this.path}.torn`];
  }

  async sync(): Promise<void> {
    await using file = await this.#open();
    await file.datasync();
  }

  async #open(): Promise<FileHandle> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    return await open(this.path, APPEND, PRIVATE);
  }

  /** The number of the next segment. */
  async #segments(): Promise<number> {
    for (let number = 1; ; number += 1) {
      if ((await stat(`${this.path}.${number}`).catch(nullIfMissing)) === null) return number;
    }
  }

  async #mend(): Promise<void> {
    if (this.#isMended) return;
    this.#isMended = true;
    if (await endsWhole(this.path)) return;
    const bytes = await readFile(this.path);
    const whole = bytes.lastIndexOf(LINE_BREAK) + 1;
    await appendFile(`${this.path}.torn`, Buffer.concat([bytes.subarray(whole), Buffer.of(LINE_BREAK)]), {
      mode: PRIVATE,
    });
    await using file = await open(this.path, constants.O_RDWR | constants.O_NOFOLLOW);
    await file.truncate(whole);
  }
}

async function endsWhole(path: string): Promise<boolean> {
  const opened = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(nullIfMissing);
  if (opened === null) return true;
  await using file = opened;
  const { size } = await file.stat();
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return size === 0 || buffer[0] === LINE_BREAK;
}

async function readOrNull(path: string): Promise<string | null> {
  return await readFile(path, "utf8").catch(nullIfMissing);
}

function nullIfMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
  throw error;
}
