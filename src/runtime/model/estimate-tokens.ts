/**
 * Token counts where no tokenizer is known: an upper estimate by kinds of characters.
 *
 * A word is one token plus a little per further letter, a digit one, a symbol nearly one: so numbers, hex, base64 and
 * minified JSON are not counted as prose. Beyond ASCII a character costs what it does in the poorer of OpenAI's
 * vocabularies. One table lookup per character, because every message of a run is counted.
 */
import type { TokenCounter } from "../ports/model-backend.ts";

/** Role, separators and call framing of one message. */
export const MESSAGE_TOKENS = 8;

/** Costs are counted in twelfths of a token. */
const TOKEN = 12;
const LETTER = 2;
/** In ids and codes hardly two letters share a token. */
const STRANGE_LETTER = 8;
/** Longer runs of letters are not words. */
const WORD_LETTERS = 12;

const KINDS = 8;
const [SPACE, CONTROL, LOWER, UPPER, DIGIT, SYMBOL] = [0, 1, 2, 3, 4, 5] as const;

const KIND_OF = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/\d/.test(character)) return DIGIT;
  if (character === " " || character === "\t") return SPACE;
  return code < 32 || code === 127 ? CONTROL : SYMBOL;
});

/** The kind of the last character; WORD + n: n letters into a word. */
const [START, BLANK, BLANKS, CAPITAL, CAPITALS, SIGN, WORD] = [0, 1, 2, 3, 4, 5, 6] as const;
const STATES = WORD + WORD_LETTERS + 1;

/** The next state and, in its lowest bits, the cost: by state and kind of character. */
const COST_BITS = 5;
const STEPS = Uint16Array.from({ length: STATES * KINDS }, (_, at) => {
  const [next, cost] = stepFrom(Math.floor(at / KINDS), at % KINDS);
  return (next << COST_BITS) | cost;
});

function stepFrom(state: number, kind: number): readonly [state: number, cost: number] {
  switch (kind) {
    case SPACE:
      // One blank joins the next word; a longer run of blanks is one token.
      if (state === BLANKS) return [BLANKS, 1];
      return state === BLANK ? [BLANKS, TOKEN] : [BLANK, 0];
    case LOWER:
      if (state === CAPITAL) return [WORD + 2, LETTER];
      if (state === CAPITALS) return [WORD + 2, STRANGE_LETTER];
      if (state < WORD) return [WORD + 1, TOKEN];
      return state === WORD + WORD_LETTERS ? [state, STRANGE_LETTER] : [state + 1, LETTER];
    case UPPER:
      if (state === CAPITAL || state === CAPITALS) return [CAPITALS, STRANGE_LETTER];
      return [state > WORD ? CAPITALS : CAPITAL, TOKEN];
    case DIGIT:
      // A number does not absorb the blank before it.
      return [START, state === BLANK ? 2 * TOKEN : TOKEN];
    case SYMBOL:
      return [SIGN, state === SIGN ? STRANGE_LETTER : TOKEN];
    default:
      return [START, TOKEN];
  }
}

export function estimateTokens(text: string): number {
  let cost = 0;
  let state: number = START;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 128) {
      const step = STEPS[state * KINDS + (KIND_OF[code] as number)] as number;
      cost += step & ((1 << COST_BITS) - 1);
      state = step >> COST_BITS;
    } else {
      cost += costBeyondAscii(code);
      state = START;
    }
  }
  return Math.ceil(cost / TOKEN) + MESSAGE_TOKENS;
}

function costBeyondAscii(code: number): number {
  // Latin and Cyrillic; then Greek, Hebrew, Arabic and their neighbours.
  if (code < 0x0250 || (code >= 0x0400 && code < 0x0530)) return 12;
  if (code < 0x0800) return 16;
  // Kana, Han and Hangul; surrogate halves (emoji); all other scripts and signs.
  if (code >= 0x3000 && code < 0xd800) return 18;
  return code >= 0xd800 && code < 0xe000 ? 20 : 26;
}

/** For models whose tokenizer is not published. */
export const ESTIMATED_TOKENS: TokenCounter = { prepare: null, count: estimateTokens };
