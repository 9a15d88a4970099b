/** The lines that are appended to one file: the shell's history, or what its hook reports. Asked for, not watched. */
import { truncateSync } from "node:fs";
import { readGuarded } from "./guarded-read.ts";

const MAX_READ_BYTES = 65_536;

export class AppendedLines {
  readonly #path: string;
  /** Longer than this it is emptied; null: it is not ours. */
  readonly #emptyAt: number | null;
  #at: number;
  #rest = "";

  constructor(path: string, emptyAt: number | null) {
    this.#path = path;
    this.#emptyAt = emptyAt;
    this.#at = readGuarded(path, 0)?.size ?? 0;
  }

  /** Since the last time. A file that became shorter counts from its end. */
  read(): readonly string[] {
    const size = readGuarded(this.#path, 0)?.size ?? 0;
    if (size === this.#at) return [];
    const isShorter = size < this.#at;
    const from = Math.max(this.#at, size - MAX_READ_BYTES);
    this.#at = size;
    if (isShorter) {
      this.#rest = "";
      return [];
    }
    const text = this.#rest + (readGuarded(this.#path, size - from, from)?.bytes.toString() ?? "");
    const lines = text.split("\n");
    this.#rest = (lines.pop() ?? "").slice(-MAX_READ_BYTES);
    if (this.#emptyAt !== null && size > this.#emptyAt) {
      truncateSync(this.#path, 0);
      this.#at = 0;
    }
    return lines.filter((line) => line !== "");
  }
}
