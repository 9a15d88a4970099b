/** The rows of a terminal that draws every character in `cells` columns. */
export function drawnRows(text: string, columns: number, cells: (character: string) => number): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const rows = [""];
    let used = 0;
    for (const character of line) {
      const width = cells(character);
      if (used + width > columns) {
        rows.push("");
        used = 0;
      }
      rows[rows.length - 1] += character;
      used += width;
    }
    return rows;
  });
}

/** Of terminals that differ in what they draw wide. */
export const TERMINALS = {
  narrow: () => 1,
  usual: (character: string) => (/[\u1100-\u115f\u2e80-\uffe6]|\p{Emoji_Presentation}/u.test(character) ? 2 : 1),
  wide: (character: string) => (/[ -~]/.test(character) ? 1 : /\p{M}/u.test(character) ? 0 : 2),
};
