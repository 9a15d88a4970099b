/**
 * Proves that no rule of `secret-patterns.ts` matches in most whole texts. One expression finds all clues, and a rule
 * is asked about every place its clues point to.
 */
import { isIn } from "./character-run.ts";
import { LookAhead, NONE } from "./look-ahead.ts";
import { type Clue, CONTEXT_CHARS, type SecretPattern } from "./secret-patterns.ts";

interface PatternClue extends Clue {
  readonly pattern: SecretPattern;
}

const NOTHING = "(?!)";

export class PatternFilter {
  readonly #signs: readonly RegExp[];
  readonly #literals: RegExp;
  /** By the longest literal found at a place: all clues that begin like it. */
  readonly #cluesOf: ReadonlyMap<string, readonly PatternClue[]>;
  /** A match starts at most so far before its clue. */
  readonly #farthestBack: number;

  constructor(patterns: readonly SecretPattern[]) {
    this.#signs = patterns.flatMap(({ sign }) => (sign instanceof RegExp ? [sign] : []));
    const clues = patterns.flatMap((pattern) =>
      pattern.sign instanceof RegExp ? [] : pattern.sign.map((clue) => ({ ...clue, pattern })),
    );
    const literals = [...new Set(clues.map(({ literal }) => anyCase(literal)))].sort((a, b) => b.length - a.length);
    const alternatives = literals.map((literal) =>
      literal.replaceAll(/[^a-z_]/g, (character) => (character === "0" ? "\\d" : `\\${character}`)),
    );
    this.#literals = new RegExp(alternatives.join("|") || NOTHING, "gi");
    this.#cluesOf = new Map(
      literals.map((found) => [found, clues.filter(({ literal }) => found.startsWith(anyCase(literal)))]),
    );
    this.#farthestBack = Math.max(0, ...clues.map(({ nearest }) => -nearest));
  }

  /** A place before which no rule matches, or null when none matches in the whole text. */
  firstPlace(text: string): number | null {
    if (this.#signs.some((sign) => sign.test(text))) return 0;
    const ahead = new LookAhead(text, true);
    /** Each clue's last place that was asked about: overlapping clues do not ask again. */
    const asked = new Map<PatternClue, number>();
    const literals = this.#literals;
    literals.lastIndex = 0;
    for (let found = literals.exec(text); found !== null; found = literals.exec(text)) {
      for (const clue of this.#cluesOf.get(anyCase(found[0])) as readonly PatternClue[]) {
        const from = Math.max(0, found.index + clue.nearest, asked.get(clue) ?? 0);
        const to = Math.min(text.length, found.index + clue.farthest + 1);
        asked.set(clue, to);
        for (let place = from; place < to; place += 1) {
          if (matchesAt(clue.pattern, ahead, place)) return Math.max(0, found.index - this.#farthestBack);
        }
      }
      // Clues may overlap.
      literals.lastIndex = found.index + 1;
    }
    return null;
  }
}

/** Literals are read without regard to case, and a digit matches any digit. */
function anyCase(literal: string): string {
  return literal.toLowerCase().replaceAll(/[0-9]/g, "0");
}

function matchesAt({ first, after, match, mayFollow }: SecretPattern, ahead: LookAhead, place: number): boolean {
  const { text } = ahead;
  const previous = place === 0 ? 0x20 : text.charCodeAt(place - 1);
  if (!isIn(after, previous) || !isIn(first, text.charCodeAt(place))) return false;
  return match(ahead, place) !== NONE && mayFollow(text.slice(Math.max(0, place - CONTEXT_CHARS), place));
}
