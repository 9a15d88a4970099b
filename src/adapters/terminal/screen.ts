/**
 * The bottom of a terminal, which is drawn again: the line of output that is being written, and the footer with the cursor.
 *
 * S1. What is above it is final. Only these last rows are drawn again, and they are fewer than the screen has.
 * S2. They are cut here, one column short of the width (barred-text.ts), so that their number is known.
 */
import { columnsOf } from "./barred-text.ts";
import type { OutputStream } from "./progress-printer.ts";

export interface Footer {
  readonly rows: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number };
}

/** How the lines of a text are laid out. */
export interface LineFormat {
  /** `isEnded`: the line does not go on. */
  rows(line: string, columns: number, isEnded: boolean): readonly string[];
}

/** Lines that were laid out before. */
export const AS_IT_IS: LineFormat = { rows: (line) => [line] };

/** A line that goes on for longer is final up to here. */
const MAX_OPEN_ROWS = 6;

export class Screen {
  readonly #output: OutputStream;
  readonly #footer: (columns: number) => Footer;
  #open: { readonly text: string; readonly format: LineFormat } = { text: "", format: AS_IT_IS };
  /** Its line was ended by other text: its own line end is still to come. */
  #cutShort: LineFormat | null = null;
  /** Rows of what is drawn above the cursor. */
  #above = 0;
  #isClosed = false;

  constructor(output: OutputStream, footer: (columns: number) => Footer) {
    this.#output = output;
    this.#footer = footer;
  }

  get columns(): number {
    return columnsOf(this.#output);
  }

  write(text: string, format: LineFormat): void {
    const final: string[] = [];
    if (this.#open.format !== format && this.#open.text !== "") {
      final.push(...this.#rows(this.#open.text, true));
      this.#cutShort = this.#open.format;
    }
    const isEnded = this.#cutShort === format && text.startsWith("\n");
    if (this.#cutShort === format) this.#cutShort = null;
    const before = this.#open.format === format ? this.#open.text : "";
    const lines = (before + (isEnded ? text.slice(1) : text)).split("\n");
    const last = lines.pop() ?? "";
    this.#open = { text: last, format };
    for (const line of lines) final.push(...this.#rows(line, true));
    final.push(...this.#shortened());
    this.#draw(final);
  }

  /** After the footer changed. */
  refresh(): void {
    this.#draw([]);
  }

  /** Takes the footer away; what follows is written by others. */
  close(): void {
    if (this.#isClosed) return;
    const { text } = this.#open;
    this.#output.write(this.#erased() + (text === "" ? "" : this.#rows(text, true).map(ended).join("")));
    this.#isClosed = true;
  }

  #rows(line: string, isEnded: boolean): readonly string[] {
    return this.#open.format.rows(line, this.columns, isEnded);
  }

  /** Rows of a long line that are final; the line goes on after a blank. */
  #shortened(): readonly string[] {
    const { text, format } = this.#open;
    if (format === AS_IT_IS || this.#rows(text, false).length <= MAX_OPEN_ROWS) return [];
    const most = this.columns * (MAX_OPEN_ROWS - 2);
    const blank = text.lastIndexOf(" ", most);
    const at = blank > most / 2 ? blank + 1 : most;
    const rows = this.#rows(text.slice(0, at).trimEnd(), false);
    this.#open = { text: text.slice(at), format };
    return [...rows, ...this.#shortened()];
  }

  #draw(final: readonly string[]): void {
    if (this.#isClosed) return;
    const { text } = this.#open;
    const open = text === "" ? [] : this.#rows(text, false);
    const { rows, cursor } = this.#footer(this.columns);
    const drawn = [...open, ...rows];
    const cursorRow = open.length + cursor.row;
    const up = drawn.length - 1 - cursorRow;
    const place = `${up > 0 ? `\u001b[${up}A` : ""}\r${cursor.column > 0 ? `\u001b[${cursor.column}C` : ""}`;
    this.#output.write(this.#erased() + final.map(ended).join("") + drawn.join("\n") + place);
    this.#above = cursorRow;
  }

  #erased(): string {
    const up = this.#above > 0 ? `\u001b[${this.#above}A` : "";
    this.#above = 0;
    return `\r${up}\u001b[J`;
  }
}

function ended(row: string): string {
  return `${row}\n`;
}
