/**
 * The parts secret patterns are made of: a literal, and a run of characters of one class.
 *
 * C1. Linear by construction: a pattern is tried at a place by reading on from there, at most MAX_RUN_CHARS per run,
 *     and never goes back.
 * C2. Growing: a text that is enough for a match is still enough when more follows. So a pattern can be decided as soon
 *     as it has seen enough, the rest of the run is swallowed, and redacting twice changes nothing.
 */

/** The index after the match, or one of these. */
export const NONE = 0;
export const MORE = -1;

export const MAX_RUN_CHARS = 1024;

export interface CharacterClass {
  readonly ascii: readonly boolean[];
  readonly beyondAscii: boolean;
}

/** What has been seen of a run. */
export interface RunMix {
  length: number;
  digits: number;
  upper: number;
  lower: number;
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

export function readLiteral(text: string, at: number, literal: string, isFinal: boolean): number {
  if (text.startsWith(literal, at)) return at + literal.length;
  return !isFinal && literal.startsWith(text.slice(at, at + literal.length)) ? MORE : NONE;
}

/** The index as soon as `enough` holds of what was read; NONE when the run ends before. */
export function readUntilEnough(
  text: string,
  from: number,
  set: CharacterClass,
  enough: (mix: RunMix) => boolean,
  isFinal: boolean,
): number {
  const mix: RunMix = { length: 0, digits: 0, upper: 0, lower: 0 };
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (at - from === MAX_RUN_CHARS || !isIn(set, code)) return NONE;
    mix.length += 1;
    if (code >= 0x30 && code <= 0x39) mix.digits += 1;
    else if (code >= 0x41 && code <= 0x5a) mix.upper += 1;
    else if (code >= 0x61 && code <= 0x7a) mix.lower += 1;
    if (enough(mix)) return at + 1;
  }
  return isFinal ? NONE : MORE;
}

/** The index after the run, of at most `max` characters; MORE while the run may go on. */
export function readRun(text: string, from: number, set: CharacterClass, max: number, isFinal: boolean): number {
  const limit = Math.min(text.length, from + max);
  let at = from;
  while (at < limit && isIn(set, text.charCodeAt(at))) at += 1;
  return at === text.length && at < from + max && !isFinal ? MORE : at;
}
