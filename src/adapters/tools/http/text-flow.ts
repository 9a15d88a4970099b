/**
 * Text that grows piece by piece: blanks collapse, gaps are made only between two pieces, and it ends at its budget.
 *
 * F1. Never more than `maxBytes` of UTF-8, never half a character; `isFull` says that something was left out.
 * F2. No blank at the end of a line, no more than one empty line in a row, none at the beginning or the end.
 */
import { truncateOutput } from "../../../kernel/vocabulary/truncate-output.ts";

export class TextFlow {
  readonly #pieces: string[] = [];
  #room: number;
  #isFull = false;
  /** What comes before the next piece: line breaks win over a separator. */
  #breaks = 0;
  #separator = "";
  #prefix = "";

  constructor(maxBytes: number) {
    this.#room = maxBytes;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Grows with every piece. */
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

  /** Belongs to the last piece, whatever gap was asked for since. */
  append(text: string): void {
    this.#push(text);
  }

  /** Between two pieces on one line; the longest that was asked for counts. */
  separate(separator: string): void {
    if (separator.length > this.#separator.length) this.#separator = separator;
  }

  /** At least so many line breaks; a paragraph is two. */
  breakLines(count: 1 | 2): void {
    this.#breaks = Math.max(this.#breaks, count);
  }

  /** One line break more, as `<br>` means it. */
  breakLine(): void {
    this.#breaks = Math.min(this.#breaks + 1, 2);
  }

  /** Comes before the next piece, unless it is taken back. */
  begin(prefix: string): void {
    this.#prefix = prefix;
  }

  toString(): string {
    return this.#pieces.join("").trimEnd();
  }

  #push(text: string): void {
    if (text === "" || this.#isFull) return;
    const kept = truncateOutput(text, this.#room, "");
    this.#pieces.push(kept.text);
    this.#room -= kept.bytes;
    this.#isFull = kept.truncated;
  }
}
