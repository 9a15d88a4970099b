/**
 * How many tokens a message is where no tokenizer is known: more than one needs, counted by kinds of characters.
 *
 * E1. Tokenizers know words, and little else by heart: a word is a token and some more for each further letter, a digit is
 *     one, a symbol nearly one. So numbers, hex, base64 and minified JSON are not taken for prose.
 * E2. Beyond ASCII a character costs what it does in the poorer of OpenAI's vocabularies, by the range that it is in.
 * E3. One pass and one look into a table a character: it is done for every message of a run.
 */
import type { TokenCounter } from "../ports/model-backend.ts";

/** Role, separators and call framing of one message. */
export const MESSAGE_TOKENS = 8;

/** Costs are counted in twelfths of a token. */
const TOKEN = 12;
const LETTER = 2;
/** Of an id or a code, where hardly two letters make a token. */
const STRANGE_LETTER = 8;
/** What is longer is no word. */
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

/** What was read last. From WORD on: so many letters of a word. */
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
      // One blank belongs to the word after it; more are a token, however many they are.
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
      // No number begins with a blank.
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
  // Kana, Han and Hangul; halves of what lies beyond, mostly emoji; all other scripts and signs.
  if (code >= 0x3000 && code < 0xd800) return 18;
  return code >= 0xd800 && code < 0xe000 ? 20 : 26;
}

/** For models of a family whose tokenizer nobody published, and for those that have none. */
export const ESTIMATED_TOKENS: TokenCounter = { prepare: null, count: estimateTokens };
