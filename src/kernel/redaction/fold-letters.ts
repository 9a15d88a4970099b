/**
 * The letters of a character, in lower case and without accents, as UTF-16 units; none for other characters. Folding is
 * slow, so results are cached; a full cache is emptied.
 */
const MAX_REMEMBERED = 4096;
const REMEMBERED = new Map<number, readonly number[]>();

const ASCII_LETTERS: readonly (readonly number[])[] = Array.from({ length: 0x80 }, (_, code) => {
  const folded = code | 0x20;
  return folded >= 0x61 && folded <= 0x7a && code >= 0x41 ? [folded] : [];
});

export function foldLetters(code: number): readonly number[] {
  if (code < 0x80) return ASCII_LETTERS[code] as readonly number[];
  const known = REMEMBERED.get(code);
  if (known !== undefined) return known;
  const letters = String.fromCodePoint(code).normalize("NFKD").toLowerCase().normalize("NFKD").replace(/\P{L}/gu, "");
  const folded = Array.from({ length: letters.length }, (_, index) => letters.charCodeAt(index));
  if (REMEMBERED.size >= MAX_REMEMBERED) REMEMBERED.clear();
  REMEMBERED.set(code, folded);
  return folded;
}
