/**
 * Compares a file with the lines it should hold, which come one after the other, and names each difference by its line.
 *
 * D1. A line that says by its id which one it was is `line-changed`; one too many is `line-unexpected`; one that is not there
 *     is `line-missing`, named by the line that stands in its place.
 * D2. Lines that need not be written yet may be absent, all from one of them on; the last may be half written.
 */
import { join } from "node:path";
import type { FileFinding } from "../../assistant/verification/verify-home.ts";
import { type FileLine, LineReader } from "./line-reader.ts";

/** More differences of one file are not named. */
const MAX_NAMED = 10;
/** A line is looked for so far ahead. */
const LOOK_AHEAD = 256;

export class LineComparison {
  readonly reader: LineReader;
  readonly findings: FileFinding[] = [];
  readonly #files: readonly string[];
  readonly #idOf: (line: string) => string | null;

  /** What is beyond was being written when the process died. */
  #isOver = false;

  /** `files`: its segments, relative to the home; `idOf`: what names a line, even a changed one. */
  constructor(home: string, files: readonly string[], idOf: (line: string) => string | null) {
    this.reader = new LineReader(files.map((file) => join(home, file)));
    this.#files = files;
    this.#idOf = idOf;
  }

  expect(text: string, isRequired: boolean): void {
    if (this.#isOver) return;
    const expected = Buffer.from(text).toString("latin1");
    const actual = this.reader.peek();
    if (actual === null) {
      if (isRequired) this.find("file.line-missing");
      return;
    }
    if (actual.text === expected && actual.isWhole) {
      this.reader.take();
      return;
    }
    if (!actual.isWhole && !isRequired && expected.startsWith(actual.text)) {
      this.#isOver = true;
      this.reader.take();
      return;
    }
    const id = this.#idOf(expected);
    const place = this.#findAhead(expected, id);
    if (place !== null) {
      for (let skipped = 0; skipped < place; skipped += 1) this.unexpected();
      this.#same(expected);
      return;
    }
    const other = this.#idOf(actual.text);
    if (other !== null && other !== id) {
      this.find("file.line-missing");
      return;
    }
    this.find("file.line-changed");
    this.reader.take();
  }

  /** The next line is one too many. */
  unexpected(): void {
    this.find("file.line-unexpected");
    this.reader.take();
  }

  find(code: FileFinding["code"], { segment, number: line } = this.reader.place): void {
    const file = this.#files[segment] ?? this.#files.at(-1) ?? "";
    if (this.findings.length < MAX_NAMED) this.findings.push({ code, file, line, ledgerSeq: null });
  }

  #same(expected: string): void {
    const line = this.reader.take();
    if (line !== null && (line.text !== expected || !line.isWhole)) this.find("file.line-changed", line);
  }

  #findAhead(expected: string, id: string | null): number | null {
    for (let ahead = 0; ahead < LOOK_AHEAD; ahead += 1) {
      const line = this.reader.peek(ahead);
      if (line === null) return null;
      if (line.text === expected || (id !== null && this.#idOf(line.text) === id)) return ahead;
    }
    return null;
  }
}

/** A small file: the range between the lines that are the same at its beginning and at its end differs. */
export function compareWhole(
  file: string,
  expected: readonly string[],
  actual: readonly FileLine[],
): readonly FileFinding[] {
  const lines = expected.map((line) => Buffer.from(line).toString("latin1"));
  const isSame = (line: FileLine | undefined, text: string | undefined): boolean =>
    line?.isWhole === true && line.text === text;
  let start = 0;
  while (start < lines.length && isSame(actual[start], lines[start])) start += 1;
  let end = 0;
  const most = Math.min(lines.length, actual.length) - start;
  while (end < most && isSame(actual.at(-1 - end), lines.at(-1 - end))) end += 1;
  const [wanted, there] = [lines.length - start - end, actual.length - start - end];
  return Array.from({ length: Math.min(MAX_NAMED, Math.max(wanted, there)) }, (_, at) => ({
    code:
      at < Math.min(wanted, there) ? "file.line-changed" : at < wanted ? "file.line-missing" : "file.line-unexpected",
    file,
    line: (actual[start]?.number ?? start + 1) + at,
    ledgerSeq: null,
  }));
}

/** Files that are open; those of earlier days are rarely needed again. */
const MAX_OPEN = 32;

export class OpenComparisons {
  readonly #open = new Set<LineComparison>();

  /** The one that was used longest ago gives its file and memory back. */
  use(comparison: LineComparison): void {
    this.#open.delete(comparison);
    this.#open.add(comparison);
    const [oldest] = this.#open;
    if (this.#open.size <= MAX_OPEN || oldest === undefined) return;
    oldest.reader.park();
    this.#open.delete(oldest);
  }
}
