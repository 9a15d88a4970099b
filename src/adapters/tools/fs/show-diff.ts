/**
 * Every line an edit changes, as a unified diff without context. No removed or added line is left out or cut; unchanged
 * lines appear only between changed lines of one hunk.
 */
import type { Replacement } from "./apply-edit.ts";

interface Hunk {
  /** Whole lines of the old text, and what they become. */
  readonly start: number;
  readonly end: number;
  readonly becomes: string;
}

const NO_LINE_END = "\\ No newline at end of file";

export function showDiff(text: string, replacements: readonly Replacement[]): readonly string[] {
  const shown: string[] = [];
  let line = 1;
  let shift = 0;
  let at = 0;
  for (const hunk of hunksOf(text, replacements)) {
    line += countLineEnds(text.slice(at, hunk.start));
    at = hunk.start;
    const before = linesOf(text.slice(hunk.start, hunk.end));
    const after = linesOf(hunk.becomes);
    const head = commonHead(before, after);
    const tail = commonTail(before.slice(head), after.slice(head));
    const removed = before.slice(head, before.length - tail);
    const added = after.slice(head, after.length - tail);
    shown.push(`@@ -${line + head},${removed.length} +${line + head + shift},${added.length} @@`);
    for (const each of removed) pushLine(shown, "-", each);
    for (const each of added) pushLine(shown, "+", each);
    shift += added.length - removed.length;
  }
  return shown;
}

function hunksOf(text: string, replacements: readonly Replacement[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let open: { start: number; end: number; from: number; parts: string[] } | null = null;
  const close = (): void => {
    if (open === null) return;
    hunks.push({ start: open.start, end: open.end, becomes: open.parts.join("") + text.slice(open.from, open.end) });
  };
  for (const { start, end, text: part } of replacements) {
    if (open === null || start >= open.end) {
      close();
      const lineStart = start === 0 ? 0 : text.lastIndexOf("\n", start - 1) + 1;
      open = { start: lineStart, end: lineStart, from: lineStart, parts: [] };
    }
    open.parts.push(text.slice(open.from, start), part);
    open.from = end;
    open.end = endOfLine(text, end);
  }
  close();
  return hunks;
}

function endOfLine(text: string, at: number): number {
  const lineEnd = text.indexOf("\n", at);
  return lineEnd === -1 ? text.length : lineEnd + 1;
}

/** Each with its line end. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function commonHead(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) count += 1;
  return count;
}

function commonTail(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a.at(-1 - count) === b.at(-1 - count)) count += 1;
  return count;
}

function pushLine(shown: string[], sign: "-" | "+", line: string): void {
  const isEnded = line.endsWith("\n");
  shown.push(sign + (isEnded ? line.slice(0, -1) : line));
  if (!isEnded) shown.push(NO_LINE_END);
}

function countLineEnds(text: string): number {
  return text.split("\n").length - 1;
}
