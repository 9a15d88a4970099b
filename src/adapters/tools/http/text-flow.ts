/**
 * Text built piece by piece: blanks collapse, gaps appear only between pieces, and it ends at `maxBytes` of UTF-8 without
 * cutting a character. No line ends with a blank, and no two empty lines follow each other.
 */
import { truncateOutput } from "../../../kernel/vocabulary/truncate-output.ts";

export class TextFlow {
  readonly #pieces: string[] = [];
  #remainingBytes: number;
  #isFull = false;
  /** Goes before the next piece; line breaks win over a separator. */
  #breaks = 0;
  #separator = "";
  #prefix = "";

  constructor(maxBytes: number) {
    this.#remainingBytes = maxBytes;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get length(): number {
    return this.#pieces.length;
  }

  get last(): string {
    return this.#pieces.at(-1) ?? "";
  }

  write(text: string): void {
    const words = text.replace(/\s+/g, " ");
    if (words.startsWith(" ")) this.separate(" ");
    const trimmed = words.trim();
    if (trimmed === "") return;
    this.writeAsIs(trimmed);
    if (words.endsWith(" ")) this.separate(" ");
  }

  writeAsIs(text: string): void {
    if (text === "") return;
    const isFirst = this.#pieces.length === 0;
    const gap = this.#breaks > 0 ? "\n".repeat(this.#breaks) : this.#separator;
    this.#push((isFirst ? "" : gap) + this.#prefix);
    this.#push(text);
    this.#breaks = 0;
    this.#separator = "";
    this.#prefix = "";
  }

  /** Extends the last piece, ignoring pending gaps. */
  append(text: string): void {
    this.#push(text);
  }

  /** Between two pieces on one line; the longest wins. */
  separate(separator: string): void {
    if (separator.length > this.#separator.length) this.#separator = separator;
  }

  /** At least this many line breaks; a paragraph is two. */
  breakLines(count: 1 | 2): void {
    this.#breaks = Math.max(this.#breaks, count);
  }

  /** One more line break, for `<br>`. */
  breakLine(): void {
    this.#breaks = Math.min(this.#breaks + 1, 2);
  }

  /** Goes before the next piece; an empty one cancels it. */
  begin(prefix: string): void {
    this.#prefix = prefix;
  }

  toString(): string {
    return this.#pieces.join("").trimEnd();
  }

  #push(text: string): void {
    if (text === "" || this.#isFull) return;
    const kept = truncateOutput(text, this.#remainingBytes, "");
    this.#pieces.push(kept.text);
    this.#remainingBytes -= kept.bytes;
    this.#isFull = kept.truncated;
  }
}
