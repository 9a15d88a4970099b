/** The words of a question that a search looks for: letters and digits in lower case, without those that say nothing. */
const MAX_CHARS = 2_000;
const MAX_WORDS = 24;

/** Few memories are about these; in a small store they would find the wrong ones. */
const EMPTY_WORDS = new Set(
  (
    "a about again all also am an and any are as at be been but by can could did do does for from get had has have he her " +
    "his how i if in into is it its just know like me mine more my no not now of on or our out please remember she should " +
    "so some tell than that the their them then there these they this to too up us was we were what when where which who " +
    "whom whose why will with would you your"
  ).split(" "),
);

export function searchWords(text: string): readonly string[] {
  const words =
    text
      .slice(0, MAX_CHARS)
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return [...new Set(words)].filter((word) => !EMPTY_WORDS.has(word)).slice(0, MAX_WORDS);
}
