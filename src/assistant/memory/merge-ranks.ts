/**
 * Reciprocal rank fusion of several rankings: an item counts 1 / (60 + rank) in each. Scores are shares of what the first of
 * every ranking would get, so they compare between searches. Of equal scores the newer memory comes first.
 */
import type { FoundMemory } from "../../runtime/ports/stored-memory.ts";

const SMOOTHING = 60;
const DIGITS = 1_000;

export interface RankedMemory extends FoundMemory {
  readonly score: number;
}

export function mergeRanks(rankings: readonly (readonly FoundMemory[])[]): readonly RankedMemory[] {
  const merged = new Map<string, { readonly memory: FoundMemory; sum: number }>();
  for (const ranking of rankings) {
    for (const [rank, memory] of ranking.entries()) {
      const known = merged.get(memory.id) ?? { memory, sum: 0 };
      known.sum += 1 / (SMOOTHING + 1 + rank);
      merged.set(memory.id, known);
    }
  }
  const most = rankings.length / (SMOOTHING + 1);
  return [...merged.values()]
    .sort((one, other) => other.sum - one.sum || other.memory.position - one.memory.position)
    .map(({ memory, sum }) => ({ ...memory, score: Math.round((sum / most) * DIGITS) / DIGITS }));
}

/** Of several that say the same, the best stays. */
export function withoutRepeats<Item>(items: readonly Item[], textOf: (item: Item) => string): readonly Item[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const key = textOf(item)
      .toLowerCase()
      .replace(/[\p{C}\p{Z}\p{P}]+/gu, " ")
      .trim();
    return !seen.has(key) && seen.add(key);
  });
}
