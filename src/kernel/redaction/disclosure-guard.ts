/**
 * The disclosure guard (P-2.5): an outgoing answer that repeats a system prompt is stopped here, whatever the model wants.
 *
 * Answer and protected texts are compared by their letters alone: case, accents, spacing, punctuation, digits, markdown,
 * quoting, numbered lines, invisible characters and written escapes make no difference. The protected texts are also
 * looked for backwards, in ROT13, and in the Base64 and hex of their own bytes.
 *
 * G1. An answer with WINDOW_LETTERS letters in a row out of a protected text is cut where they begin; the refusal follows
 *     once, and then nothing more. A shorter text counts as a whole, from MIN_LETTERS on; below that it is not protected.
 * G2. Any other answer is released unharmed, and what is released does not depend on the cuts.
 * G3. Each character is read once; held back is only the running match, at most `maxHeldChars`.
 *
 * Limits: paraphrase, translation, look-alike letters of another script, extra words within every window, and the Base64
 * of a reformatted prompt get through. The guard is the last line; that prompts hold no secrets is the first.
 */
import type { Transducer } from "../vocabulary/transducer.ts";
import { MAX_ESCAPE_CHARS, readEscape, startsEscape } from "./escape-token.ts";
import { BASE64_BITS, digitNeedles, FOREIGN, HEX_BITS, READINGS, SKIPPED, utf8 } from "./secret-encodings.ts";
import {
  compileNeedles,
  type Hit,
  type Needle,
  NOTHING_TRACKED,
  type SubstringAutomaton,
  SubstringTracker,
  type Tracking,
} from "./substring-automaton.ts";

/** About nine words: sentences that prompts and answers share by chance are shorter. */
export const WINDOW_LETTERS = 48;
export const MIN_LETTERS = 20;
export const DISCLOSURE_REFUSAL =
  "I can't share my instructions. They describe how I should behave, which tools I may use and what to keep safe; ask me what I can do and I will gladly explain that.";

/** Other characters in a row within one match. */
const MAX_GAP = 64;
const OWNER = 0;

interface Reading {
  /** Characters of source. */
  readonly length: number;
  readonly code: number;
}

export interface DisclosureState {
  /** The offset in the stream of the first held character. */
  readonly base: number;
  readonly held: string;
  /** How many of the held characters have been read. */
  readonly read: number;
  /** Letters, Base64, hex. */
  readonly tracks: readonly Tracking[];
  readonly stopped: boolean;
}

export interface DisclosureGuard extends Transducer<string, string, DisclosureState> {
  readonly maxHeldChars: number;
}

export function compileDisclosureGuard(protectedTexts: readonly string[]): DisclosureGuard {
  const texts = protectedTexts
    .map((text) => ({ letters: lettersOf(text), bytes: utf8(text) }))
    .filter(({ letters }) => letters.length >= MIN_LETTERS);
  const digits = (width: number): SubstringAutomaton =>
    compileNeedles(texts.flatMap(({ bytes }) => digitNeedles(bytes, width, OWNER, WINDOW_LETTERS)));
  const automata = [
    compileNeedles(texts.flatMap(({ letters }) => letterNeedles(letters))),
    digits(BASE64_BITS),
    digits(HEX_BITS),
  ];
  return {
    maxHeldChars: 2 * WINDOW_LETTERS * (MAX_GAP + 1) * MAX_ESCAPE_CHARS,
    start: () => ({ base: 0, held: "", read: 0, tracks: automata.map(() => NOTHING_TRACKED), stopped: false }),
    push: (state, chunk) => guardChunk(automata, state, chunk, false),
    finish: (state) => guardChunk(automata, state, "", true)[1],
  };
}

/** The whole answer at once, and whether it had to be stopped. */
export function guardAnswer(
  guard: DisclosureGuard,
  answer: string,
): { readonly text: string; readonly stopped: boolean } {
  const [state, released] = guard.push(guard.start(), answer);
  const text = released + guard.finish(state);
  return { text, stopped: text !== answer };
}

function guardChunk(
  automata: readonly SubstringAutomaton[],
  state: DisclosureState,
  chunk: string,
  isFinal: boolean,
): readonly [DisclosureState, string] {
  if (state.stopped) return [state, ""];
  const text = state.held + chunk;
  const trackers = automata.map(
    (automaton, view) => new SubstringTracker(automaton, MAX_GAP, state.tracks[view] ?? NOTHING_TRACKED),
  );
  let at = state.read;
  while (at < text.length) {
    const symbol = readSymbol(text, at, isFinal);
    if (symbol === undefined) break;
    const hit = readOn(trackers, symbol.code, state.base + at);
    if (hit !== null) {
      const clean = text.slice(0, hit.from - state.base);
      return [{ base: hit.from, held: "", read: 0, tracks: [], stopped: true }, clean + DISCLOSURE_REFUSAL];
    }
    at += symbol.length;
  }
  const matchFrom = Math.min(...trackers.map((tracker) => tracker.heldFrom())) - state.base;
  const settled = isFinal ? text.length : Math.min(matchFrom, at);
  return [
    {
      base: state.base + settled,
      held: text.slice(settled),
      read: at - settled,
      tracks: trackers.map((tracker) => tracker.tracking()),
      stopped: false,
    },
    text.slice(0, settled),
  ];
}

function readOn(trackers: readonly SubstringTracker[], code: number, at: number): Hit | null {
  const [letters, base64, hex] = trackers as readonly [SubstringTracker, SubstringTracker, SubstringTracker];
  const byLetters = followLetters(letters, code, at);
  const byBase64 = followDigit(base64, READINGS.base64, code, at);
  const byHex = followDigit(hex, READINGS.hex, code, at);
  return byLetters ?? byBase64 ?? byHex;
}

function followLetters(tracker: SubstringTracker, code: number, at: number): Hit | null {
  const letters = foldLetters(code);
  if (letters.length === 0) tracker.skip();
  for (const letter of letters) {
    const hit = tracker.follow(letter, at);
    if (hit !== null) return hit;
  }
  return null;
}

function followDigit(tracker: SubstringTracker, reading: readonly number[], code: number, at: number): Hit | null {
  const digit = reading[code] ?? FOREIGN;
  if (digit === SKIPPED) tracker.skip();
  else if (digit === FOREIGN) tracker.reset();
  else return tracker.follow(digit, at);
  return null;
}

/** The next character or escape; undefined when it is not complete. */
function readSymbol(text: string, at: number, isFinal: boolean): Reading | undefined {
  const unit = text.charCodeAt(at);
  if (startsEscape(unit)) {
    const found = readEscape(text, at, isFinal);
    if (found !== null) return found;
  }
  const isOpen = (unit & 0xfc00) === 0xd800 && at + 1 === text.length && !isFinal;
  const code = text.codePointAt(at) as number;
  return isOpen ? undefined : { length: code > 0xffff ? 2 : 1, code };
}

function lettersOf(text: string): readonly number[] {
  const letters: number[] = [];
  for (let at = 0; at < text.length; ) {
    const symbol = readSymbol(text, at, true) as Reading;
    letters.push(...foldLetters(symbol.code));
    at += symbol.length;
  }
  return letters;
}

/** The letters of a character, in lower case and without accents, as UTF-16 units; none when it is no letter. */
function foldLetters(code: number): readonly number[] {
  if (code < 0x80) return ASCII_LETTERS[code] as readonly number[];
  const letters = String.fromCodePoint(code).normalize("NFKD").toLowerCase().normalize("NFKD").replace(/\P{L}/gu, "");
  return Array.from({ length: letters.length }, (_, index) => letters.charCodeAt(index));
}

const ASCII_LETTERS: readonly (readonly number[])[] = Array.from({ length: 0x80 }, (_, code) => {
  const folded = code | 0x20;
  return folded >= 0x61 && folded <= 0x7a && code >= 0x41 ? [folded] : [];
});

function letterNeedles(letters: readonly number[]): readonly Needle[] {
  const gram = Math.min(WINDOW_LETTERS, letters.length);
  return [letters, letters.toReversed(), letters.map(rot13)].map((symbols) => ({ symbols, owner: OWNER, gram }));
}

function rot13(letter: number): number {
  return letter >= 0x61 && letter <= 0x7a ? ((letter - 0x61 + 13) % 26) + 0x61 : letter;
}
