/** The candidate that a mistyped `word` most likely means; null when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const near = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.candidate ?? null;
}

/** Counts insertions, deletions, replacements and swaps of neighbours in the first 64 characters. */
function editDistance(left: string, right: string): number {
  const [a, b] = [left.slice(0, 64), right.slice(0, 64)];
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          (last[j] ?? 0) + 1,
          (row[j - 1] ?? 0) + 1,
          (last[j - 1] ?? 0) + (isSame ? 0 : 1),
          isSwap ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = row;
  }
  return last.at(-1) ?? 0;
}
