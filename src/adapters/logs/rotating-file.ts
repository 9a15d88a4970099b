/**
 * A file of lines with a cap on its bytes and on how many files are kept: `name.jsonl` is the newest, `name.1.jsonl` the
 * one before it.
 *
 * F1. A file is renamed before a line would take it over the cap, and the oldest one is removed.
 * F2. Mode 0600, its directory 0700; a link in its place is refused.
 */
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

export interface LogLimits {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

export class RotatingFile {
  readonly #directory: string;
  readonly #name: string;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
  }

  async append(lines: readonly string[], { maxBytes, maxFiles }: LogLimits): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    let size = (await stat(this.#path(0)).catch(nullIfMissing))?.size ?? 0;
    let text = "";
    for (const line of lines) {
      const bytes = Buffer.byteLength(line);
      if (size > 0 && size + bytes > maxBytes) {
        await this.#write(text);
        text = "";
        size = 0;
        await this.#rotate(maxFiles);
      }
      text += line;
      size += bytes;
    }
    await this.#write(text);
    await this.#removeFrom(maxFiles);
  }

  async #write(text: string): Promise<void> {
    if (text === "") return;
    await using file = await open(this.#path(0), APPEND, 0o600);
    await file.appendFile(text);
  }

  async #rotate(maxFiles: number): Promise<void> {
    await this.#removeFrom(maxFiles - 1);
    for (let number = maxFiles - 2; number >= 0; number -= 1) {
      await rename(this.#path(number), this.#path(number + 1)).catch(nullIfMissing);
    }
  }

  async #removeFrom(number: number): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      const found = readLogName(name);
      if (found?.name === this.#name && found.number >= number) await rm(join(this.#directory, name), { force: true });
    }
  }

  #path(number: number): string {
    return join(this.#directory, number === 0 ? `${this.#name}.jsonl` : `${this.#name}.${number}.jsonl`);
  }
}

/** Number 0 is the newest. Null: no file of a log. */
export function readLogName(file: string): { readonly name: string; readonly number: number } | null {
  const [, name, number] = /^([a-z]+)(?:\.([1-9][0-9]{0,5}))?\.jsonl$/.exec(file) ?? [];
  return name === undefined ? null : { name, number: Number(number ?? 0) };
}

export function nullIfMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
  throw error;
}
