/**
 * The parts secret patterns are made of: a class of characters, and a run of them that is enough to be a secret. A run
 * that is enough stays so when more follows, so a pattern is decided as soon as it has seen enough. A run that is not
 * enough stays so when its front is cut off, so `look-ahead.ts` need not read it again for the next place to start.
 */

/** Runs are read no further: no key is longer. */
export const MAX_RUN_CHARS = 512;

export interface CharacterClass {
  readonly ascii: readonly boolean[];
  readonly beyondAscii: boolean;
}

/** Enough are `length` characters with `digits` digits among them, or `mixedLength` of upper and lower case. */
export interface RunRule {
  readonly set: CharacterClass;
  readonly length: number;
  readonly digits: number;
  readonly mixedLength: number;
}

export function characterClass(spec: string, beyondAscii = false): CharacterClass {
  const pattern = new RegExp(`[${spec}]`);
  return {
    ascii: Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code))),
    beyondAscii,
  };
}

export function isIn(set: CharacterClass, code: number): boolean {
  return code < 128 ? (set.ascii[code] as boolean) : set.beyondAscii;
}

export function atLeast(set: CharacterClass, length: number): RunRule {
  return { set, length, digits: 0, mixedLength: length };
}

export function withDigits(set: CharacterClass, length: number, digits: number): RunRule {
  return { set, length, digits, mixedLength: Number.POSITIVE_INFINITY };
}

export function ofBothCases(set: CharacterClass, length: number): RunRule {
  return { set, length: Number.POSITIVE_INFINITY, digits: 0, mixedLength: length };
}

/** Words are of one case and have no digits; keys are not. */
export function looksRandom(set: CharacterClass, length: number): RunRule {
  return { set, length, digits: 1, mixedLength: 24 };
}
