/** The live output of one call: its first rows behind a bar; the lines after them are counted. */
import { barredText, type Columns } from "./barred-text.ts";

const MAX_ROWS = 40;
/** Of one piece of a line: more would fill the screen by itself. */
const MAX_PIECE_CHARS = 4_000;

export class LiveOutput {
  readonly callId: string;
  readonly #barred: ReturnType<typeof barredText>;
  #rows = 0;
  #isFolded = false;
  #hiddenLines = 0;
  #isMidHiddenLine = false;

  constructor(callId: string, columns: Columns, paint: (bar: string) => string) {
    this.callId = callId;
    this.#barred = barredText(columns, "read", paint);
  }

  /** What to print of this text. */
  write(text: string): string {
    let shown = "";
    for (const piece of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
      if (this.#isFolded) this.#hide(piece);
      else {
        const rows = this.#barred.write(piece.slice(0, MAX_PIECE_CHARS));
        shown += rows;
        this.#rows += rows.split("\n").length - 1;
        const rest = piece.slice(MAX_PIECE_CHARS);
        this.#isFolded = this.#rows >= MAX_ROWS || rest !== "";
        if (rest !== "") this.#hide(rest);
      }
    }
    return shown;
  }

  /** Ends the line on the screen, if one has begun. */
  endLine(): string {
    return this.#barred.end();
  }

  get linesLeftOut(): number {
    return this.#hiddenLines + (this.#isMidHiddenLine ? 1 : 0);
  }

  #hide(piece: string): void {
    this.#isMidHiddenLine = !piece.endsWith("\n");
    if (!this.#isMidHiddenLine) this.#hiddenLines += 1;
  }
}
