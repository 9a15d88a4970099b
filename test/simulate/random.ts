/**
 * Chance out of a seed.
 *
 * N1. What is drawn depends on the seed and on what is being decided (`labels`), never on what was drawn before for
 *     something else: a run that crashed and asks again meets the world it left.
 */
export interface Random {
  /** An integer from 0 up to, but without, `limit`. */
  readonly below: (limit: number) => number;
  /** An integer between both bounds, which may be drawn too. */
  readonly between: (low: number, high: number) => number;
  readonly chance: (percent: number) => boolean;
  readonly pick: <T>(choices: readonly T[]) => T;
  /** A key of the table, as often as its weight says. */
  readonly weigh: <Choice extends string>(weights: Readonly<Record<Choice, number>>) => Choice;
}

export function derive(seed: number, ...labels: readonly (string | number)[]): Random {
  let state = mix(hashText(`${seed}\n${labels.join("\n")}`));
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    return mix(state);
  };
  const below = (limit: number): number => next() % limit;
  return {
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (percent) => below(100) < percent,
    pick: (choices) => choices[below(choices.length)] as (typeof choices)[number],
    weigh: (weights) => weighted(weights, below),
  };
}

function weighted<Choice extends string>(weights: Readonly<Record<Choice, number>>, below: Random["below"]): Choice {
  const choices = Object.entries<number>(weights) as [Choice, number][];
  const total = choices.reduce((sum, [, weight]) => sum + weight, 0);
  let left = below(total);
  for (const [choice, weight] of choices) {
    if (left < weight) return choice;
    left -= weight;
  }
  throw new RangeError("weights sum up to less than their total");
}

/** FNV-1a over UTF-16 code units. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** The finaliser of splitmix32: every bit of the input moves every bit of the output. */
function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
