/**
 * Computes an exact replacement in a text, or says why it is ambiguous or impossible. Overlapping matches are as
 * ambiguous as separate ones; `replaceAll` replaces from the left without overlap. In a file with CRLF line ends only,
 * the edit gets them too. Problems name lines and never quote the file.
 */
export interface EditRequest {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

/** `text` replaces `start` to `end` of the old text. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type EditVerdict =
  | { readonly ok: true; readonly text: string; readonly replacements: readonly Replacement[] }
  | { readonly ok: false; readonly problem: string };

const MAX_LINES_NAMED = 5;
const MAX_MATCHES = 10_000;

export function applyEdit(text: string, request: EditRequest, maxChars: number): EditVerdict {
  const matchLineEnds = hasOnlyCrlf(text) ? withCrlf : (any: string) => any;
  const oldText = matchLineEnds(request.oldText);
  const newText = matchLineEnds(request.newText);
  if (oldText === newText) return refuse("old_text and new_text are the same, so nothing would change");
  const matches = findMatches(text, oldText, request.replaceAll ? oldText.length : 1);
  if (matches.length === 0) return refuse(`old_text was not found. ${nearest(text, oldText)}`);
  if (matches.length > 1 && !request.replaceAll) return refuse(ambiguous(text, matches));
  if (matches.length > MAX_MATCHES) {
    return refuse(`old_text occurs more than ${MAX_MATCHES} times: replace it in several edits`);
  }
  if (text.length + matches.length * (newText.length - oldText.length) > maxChars) {
    return refuse("the file would become too large for an edit");
  }
  const replacements = matches.map((start) => ({ start, end: start + oldText.length, text: newText }));
  return { ok: true, text: replaced(text, replacements), replacements };
}

function hasOnlyCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function withCrlf(text: string): string {
  return text.replace(/(?<!\r)\n/g, "\r\n");
}

function findMatches(text: string, wanted: string, stride: number): readonly number[] {
  const matches: number[] = [];
  let at = text.indexOf(wanted);
  while (at !== -1 && matches.length <= MAX_MATCHES) {
    matches.push(at);
    at = text.indexOf(wanted, at + stride);
  }
  return matches;
}

function replaced(text: string, replacements: readonly Replacement[]): string {
  let from = 0;
  const parts: string[] = [];
  for (const { start, end, text: part } of replacements) {
    parts.push(text.slice(from, start), part);
    from = end;
  }
  return parts.join("") + text.slice(from);
}

function ambiguous(text: string, matches: readonly number[]): string {
  const lines = new Set(matches.slice(0, MAX_LINES_NAMED).map((match) => lineOf(text, match)));
  const more = matches.length > MAX_LINES_NAMED ? ", …" : "";
  const times = matches.length > MAX_MATCHES ? `more than ${MAX_MATCHES}` : matches.length;
  return `old_text occurs ${times} times (line ${[...lines].join(", ")}${more}): add surrounding text to pick one, or set replace_all`;
}

/** Looks for a line that differs from the first line of `oldText` only in white space or letter case. */
function nearest(text: string, oldText: string): string {
  const wanted = squeezed(oldText.split("\n").find((line) => squeezed(line) !== "") ?? "");
  const line = wanted === "" ? -1 : text.split("\n").findIndex((candidate) => squeezed(candidate).includes(wanted));
  return line === -1
    ? "Read the file again: the text must match exactly"
    : `Line ${line + 1} comes nearest: compare white space, letter case and the lines after it`;
}

function squeezed(line: string): string {
  return line.replace(/\s+/g, "").toLowerCase();
}

function lineOf(text: string, match: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < match; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function refuse(problem: string): EditVerdict {
  return { ok: false, problem };
}
