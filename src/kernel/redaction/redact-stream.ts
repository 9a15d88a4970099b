/**
 * Redaction of a stream: loaded secrets first, patterns second. For every way of cutting a text the outputs together
 * are what `redactText` makes of the whole. At most `maxHeldChars` characters are held back, in ordinary prose a word
 * or two.
 */
import type { Transducer } from "../vocabulary/transducer.ts";
import {
  type KnownSecrets,
  type KnownSecretsState,
  mayHoldSecrets,
  readKnownSecrets,
  startKnownSecrets,
} from "./known-secrets.ts";
import {
  MAX_PATTERN_HELD_CHARS,
  PATTERNS_STARTED,
  type PatternOutput,
  type PatternState,
  type PatternTable,
  scanPatterns,
  scanWholeText,
} from "./pattern-scanner.ts";

export interface RedactionRules {
  readonly known: KnownSecrets;
  readonly patterns: PatternTable;
}

export interface RedactStreamState {
  readonly known: KnownSecretsState;
  readonly patterns: PatternState;
}

export interface RedactStream extends Transducer<string, string, RedactStreamState> {
  readonly maxHeldChars: number;
}

export function redactStream(rules: RedactionRules): RedactStream {
  return {
    maxHeldChars: rules.known.maxHeldChars + MAX_PATTERN_HELD_CHARS,
    start: startRedaction,
    push: (state, chunk) => {
      const [next, output] = redactChunk(rules, state, chunk, false);
      return [next, output.text];
    },
    finish: (state) => redactChunk(rules, state, "", true)[1].text,
  };
}

export function startRedaction(): RedactStreamState {
  return { known: startKnownSecrets(), patterns: PATTERNS_STARTED };
}

/** True only if nothing of this text would be redacted, whole or by line, and it holds no marker. False proves nothing. */
export function isProvenClean({ known, patterns }: RedactionRules, text: string): boolean {
  return !mayHoldSecrets(known, text) && patterns.filter.firstPlace(text) === null;
}

/** The result of the text as the only chunk. The filters spare most texts the exact automata. */
export function redactWhole(rules: RedactionRules, text: string): PatternOutput {
  if (!mayHoldSecrets(rules.known, text)) return scanWholeText(rules.patterns, text);
  return redactChunk(rules, startRedaction(), text, true)[1];
}

export function redactChunk(
  rules: RedactionRules,
  state: RedactStreamState,
  chunk: string,
  isFinal: boolean,
): readonly [RedactStreamState, PatternOutput] {
  const [known, pieces] = readKnownSecrets(rules.known, state.known, chunk, isFinal);
  const [patterns, output] = scanPatterns(rules.patterns, state.patterns, pieces, isFinal);
  return [{ known, patterns }, output];
}
