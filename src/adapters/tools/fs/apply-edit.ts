/**
 * An exact replacement in a text: what it would become, or why it is not to be done.
 *
 * A1. Characters outside the replaced places are the same after as before, a byte order mark and line ends among them.
 * A2. Only a place that is meant beyond doubt is replaced: places that overlap are as ambiguous as places apart. With
 *     `replaceAll`, all places are, from the left, none overlapping.
 * A3. Where every line of the text ends in CRLF, so do the lines of the edit, however it was written.
 * A4. A problem says where to look, and nothing of what stands there.
 */
export interface EditWish {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

/** From `start` to `end` of the old text, `text` takes its place. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type EditVerdict =
  | { readonly ok: true; readonly text: string; readonly replacements: readonly Replacement[] }
  | { readonly ok: false; readonly problem: string };

const MAX_LINES_NAMED = 5;
const MAX_PLACES = 10_000;

export function applyEdit(text: string, wish: EditWish, maxChars: number): EditVerdict {
  const spell = hasOnlyCrlf(text) ? withCrlf : (any: string) => any;
  const oldText = spell(wish.oldText);
  const newText = spell(wish.newText);
  if (oldText === newText) return refuse("old_text and new_text are the same: nothing would change");
  const places = findPlaces(text, oldText, wish.replaceAll ? oldText.length : 1);
  if (places.length === 0) return refuse(`old_text is not there. ${nearest(text, oldText)}`);
  if (places.length > 1 && !wish.replaceAll) return refuse(ambiguous(text, places));
  if (places.length > MAX_PLACES) return refuse(`old_text is there more than ${MAX_PLACES} times: replace it in parts`);
  if (text.length + places.length * (newText.length - oldText.length) > maxChars) {
    return refuse("the file would become too large for an edit");
  }
  const replacements = places.map((start) => ({ start, end: start + oldText.length, text: newText }));
  return { ok: true, text: replaced(text, replacements), replacements };
}

function hasOnlyCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function withCrlf(text: string): string {
  return text.replace(/(?<!\r)\n/g, "\r\n");
}

function findPlaces(text: string, wanted: string, stride: number): readonly number[] {
  const places: number[] = [];
  let at = text.indexOf(wanted);
  while (at !== -1 && places.length <= MAX_PLACES) {
    places.push(at);
    at = text.indexOf(wanted, at + stride);
  }
  return places;
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

function ambiguous(text: string, places: readonly number[]): string {
  const lines = new Set(places.slice(0, MAX_LINES_NAMED).map((place) => lineOf(text, place)));
  const more = places.length > MAX_LINES_NAMED ? ", …" : "";
  const times = places.length > MAX_PLACES ? `more than ${MAX_PLACES}` : places.length;
  return `old_text is there ${times} times (line ${[...lines].join(", ")}${more}): add what stands around the one you mean, or set replace_all`;
}

/** A line that only differs in white space or in the case of its letters from the first of what was looked for. */
function nearest(text: string, oldText: string): string {
  const wanted = squeezed(oldText.split("\n").find((line) => squeezed(line) !== "") ?? "");
  const line = wanted === "" ? -1 : text.split("\n").findIndex((candidate) => squeezed(candidate).includes(wanted));
  return line === -1
    ? "Read the file again: it must match to the letter"
    : `Line ${line + 1} comes nearest: compare white space, upper and lower case, and the lines after it`;
}

function squeezed(line: string): string {
  return line.replace(/\s+/g, "").toLowerCase();
}

function lineOf(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function refuse(problem: string): EditVerdict {
  return { ok: false, problem };
}
