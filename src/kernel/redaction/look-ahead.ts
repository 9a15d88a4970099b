/**
 * The view that a secret pattern has of the text after a place. Places are asked about from left to right, and each run
 * and rule remembers how far it was read, so many starts cost no more; the results equal a fresh read.
 */
import { type CharacterClass, isIn, MAX_RUN_CHARS, type RunRule } from "./character-run.ts";

/** The index after the match, or one of these. */
export const NONE = 0;
export const MORE = -1;

/** The text from `from` to before `to` is of one class. */
interface KnownRun {
  from: number;
  to: number;
}

/** A known run that was not enough, up to its last character. */
interface KnownMix extends KnownRun {
  digits: number;
  upper: number;
  lower: number;
}

export class LookAhead {
  readonly text: string;
  readonly isFinal: boolean;
  readonly #runs = new Map<CharacterClass, KnownRun>();
  readonly #mixes = new Map<RunRule, KnownMix>();

  /** Unless it is final, the text may go on. */
  constructor(text: string, isFinal: boolean) {
    this.text = text;
    this.isFinal = isFinal;
  }

  readLiteral(at: number, literal: string): number {
    if (this.text.startsWith(literal, at)) return at + literal.length;
    if (this.isFinal || at + literal.length <= this.text.length) return NONE;
    return literal.startsWith(this.text.slice(at)) ? MORE : NONE;
  }

  /** The index after the run, of at most `max` characters; MORE while the run may go on. */
  readRun(from: number, set: CharacterClass, max: number): number {
    const limit = Math.min(this.text.length, from + max);
    const run = this.#runAt(set, from);
    while (run.to < limit && isIn(set, this.text.charCodeAt(run.to))) run.to += 1;
    const end = Math.min(run.to, limit);
    return end === this.text.length && end < from + max && !this.isFinal ? MORE : end;
  }

  /** The index as soon as what was read is enough for the rule; NONE when the run ends before. */
  readUntilEnough(from: number, rule: RunRule): number {
    const mix = this.#mixAt(rule, from);
    for (;;) {
      if (isEnough(mix, rule)) return mix.to;
      if (mix.to - mix.from === MAX_RUN_CHARS) return NONE;
      if (mix.to === this.text.length) return this.isFinal ? NONE : MORE;
      const code = this.text.charCodeAt(mix.to);
      if (!isIn(rule.set, code)) return NONE;
      count(mix, code, 1);
      mix.to += 1;
    }
  }

  #runAt(set: CharacterClass, from: number): KnownRun {
    const known = this.#runs.get(set);
    if (known !== undefined && from >= known.from && from < known.to) return known;
    const run = { from, to: from };
    this.#runs.set(set, run);
    return run;
  }

  #mixAt(rule: RunRule, from: number): KnownMix {
    const known = this.#mixes.get(rule);
    if (known !== undefined && from >= known.from && from < known.to) {
      for (; known.from < from; known.from += 1) count(known, this.text.charCodeAt(known.from), -1);
      return known;
    }
    const mix = { from, to: from, digits: 0, upper: 0, lower: 0 };
    this.#mixes.set(rule, mix);
    return mix;
  }
}

function isEnough(mix: KnownMix, rule: RunRule): boolean {
  const length = mix.to - mix.from;
  if (length >= rule.length && mix.digits >= rule.digits) return true;
  return length >= rule.mixedLength && mix.upper > 0 && mix.lower > 0;
}

function count(mix: KnownMix, code: number, by: 1 | -1): void {
  if (code >= 0x30 && code <= 0x39) mix.digits += by;
  else if (code >= 0x41 && code <= 0x5a) mix.upper += by;
  else if (code >= 0x61 && code <= 0x7a) mix.lower += by;
}
