/**
 * The disclosure guard (P-2.5): an outgoing answer that repeats a system prompt is stopped here, whatever the model wants.
 *
 * Answer and protected texts are compared by their letters alone: case, accents, spacing, punctuation, digits, quoting,
 * numbered lines, invisible characters make no difference. Written escapes, entities, HTML tags and the targets of
 * links are read both ways, as they are written and as what they stand for, in any mixture (`lane-set.ts`). The protected
 * texts are also looked for backwards, in ROT13, and in the Base64 and hex of their own bytes.
 *
 * G1. An answer with WINDOW_LETTERS letters in a row out of a protected text is cut where they begin; the refusal follows
 *     once, and then nothing more. A shorter text counts as a whole, from MIN_LETTERS on; below that it is not protected.
 * G2. Any other answer is released unharmed, and what is released does not depend on the cuts.
 * G3. Each character is read once; held back is only the running match, at most `maxHeldChars`.
 *
 * Limits: paraphrase, translation, look-alike letters of another script, extra words or letters within every window
 * (markup other than HTML and links adds such, as `\textbf{}` does), more than MAX_GAP characters between two letters,
 * tags and targets of more than MAX_DECORATION_CHARS, entities for letters beyond those of `decoration.ts`, and the
 * Base64 of a reformatted prompt get through. The guard is the last line; that prompts hold no secrets is the first.
 */
import type { Transducer } from "../vocabulary/transducer.ts";
import { MAX_DECORATION_CHARS, readDecoration, startsDecoration } from "./decoration.ts";
import { MAX_ESCAPE_CHARS, readEscape, startsEscape } from "./escape-token.ts";
import { LaneSet } from "./lane-set.ts";
import { BASE64_BITS, digitNeedles, FOREIGN, HEX_BITS, READINGS, SKIPPED, utf8 } from "./secret-encodings.ts";
import {
  compileNeedles,
  type Hit,
  type Needle,
  type SubstringAutomaton,
  type Tracking,
} from "./substring-automaton.ts";

/** About nine words: sentences that prompts and answers share by chance are shorter. */
export const WINDOW_LETTERS = 48;
export const MIN_LETTERS = 20;
export const DISCLOSURE_REFUSAL =
  "I can't share my instructions. They describe how I should behave, which tools I may use and what to keep safe; ask me what I can do and I will gladly explain that.";

/** Other characters in a row within one match. */
const MAX_GAP = 1024;
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
  /** The lanes of letters, Base64 and hex. */
  readonly tracks: readonly (readonly Tracking[])[];
  readonly stopped: boolean;
}

export interface DisclosureGuard extends Transducer<string, string, DisclosureState> {
  readonly maxHeldChars: number;
}

export function compileDisclosureGuard(protectedTexts: readonly string[]): DisclosureGuard {
  const texts = protectedTexts
    .map((text) => ({ forms: letterForms(text), bytes: utf8(text) }))
    .filter(({ forms }) => forms.length > 0);
  const digits = (width: number): SubstringAutomaton =>
    compileNeedles(texts.flatMap(({ bytes }) => digitNeedles(bytes, width, OWNER, WINDOW_LETTERS)));
  const automata = [
    compileNeedles(texts.flatMap(({ forms }) => forms.flatMap(letterNeedles))),
    digits(BASE64_BITS),
    digits(HEX_BITS),
  ];
  return {
    maxHeldChars: 2 * WINDOW_LETTERS * (MAX_GAP + MAX_ESCAPE_CHARS) + MAX_DECORATION_CHARS,
    start: () => ({ base: 0, held: "", read: 0, tracks: automata.map(() => []), stopped: false }),
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
  const lanes = automata.map((automaton, view) =>
    LaneSet.from(automaton, MAX_GAP, state.tracks[view] as readonly Tracking[]),
  );
  let at = state.read;
  while (at < text.length) {
    const token = readToken(text, at, isFinal);
    const symbol = token === null ? readCharacter(text, at, isFinal) : token;
    if (symbol === undefined) break;
    const from = state.base + at;
    const hit =
      token === null
        ? readOn(lanes, symbol, from)
        : readBothWays(lanes, text.slice(at, at + symbol.length), symbol, from);
    if (hit !== null) {
      const clean = text.slice(0, hit.from - state.base);
      return [{ base: hit.from, held: "", read: 0, tracks: [], stopped: true }, clean + DISCLOSURE_REFUSAL];
    }
    at += symbol.length;
  }
  const matchFrom = Math.min(...lanes.map((lane) => lane.heldFrom())) - state.base;
  const settled = isFinal ? text.length : Math.min(matchFrom, at);
  return [
    {
      base: state.base + settled,
      held: text.slice(settled),
      read: at - settled,
      tracks: lanes.map((lane) => lane.tracks()),
      stopped: false,
    },
    text.slice(0, settled),
  ];
}

function readBothWays(lanes: readonly LaneSet[], source: string, undone: Reading, from: number): Hit | null {
  const asWritten = lanes.map((lane) => lane.fork());
  for (let at = 0; at < source.length; ) {
    const character = readCharacter(source, at, true) as Reading;
    const hit = readOn(asWritten, character, from + at);
    if (hit !== null) return hit;
    at += character.length;
  }
  const hit = readOn(lanes, undone, from);
  lanes.forEach((lane, index) => {
    lane.join(asWritten[index] as LaneSet);
  });
  return hit;
}

function readOn(lanes: readonly LaneSet[], symbol: Reading, at: number): Hit | null {
  const [letters, base64, hex] = lanes as readonly [LaneSet, LaneSet, LaneSet];
  const byLetters = followLetters(letters, symbol, at);
  const byBase64 = base64.read(READINGS.base64[symbol.code] ?? FOREIGN, at, symbol.length);
  const byHex = hex.read(READINGS.hex[symbol.code] ?? FOREIGN, at, symbol.length);
  return byLetters ?? byBase64 ?? byHex;
}

function followLetters(lanes: LaneSet, symbol: Reading, at: number): Hit | null {
  const letters = foldLetters(symbol.code);
  if (letters.length === 0) return lanes.read(SKIPPED, at, symbol.length);
  for (const letter of letters) {
    const hit = lanes.read(letter, at, symbol.length);
    if (hit !== null) return hit;
  }
  return null;
}

/** What can be read in two ways; null when nothing of the kind stands here, undefined when it is not complete. */
function readToken(text: string, at: number, isFinal: boolean): Reading | null | undefined {
  const unit = text.charCodeAt(at);
  const escaped = startsEscape(unit) ? readEscape(text, at, isFinal) : null;
  return escaped === null && startsDecoration(unit) ? readDecoration(text, at, isFinal) : escaped;
}

/** Undefined when only half of it is there. */
function readCharacter(text: string, at: number, isFinal: boolean): Reading | undefined {
  const isOpen = (text.charCodeAt(at) & 0xfc00) === 0xd800 && at + 1 === text.length && !isFinal;
  const code = text.codePointAt(at) as number;
  return isOpen ? undefined : { length: code > 0xffff ? 2 : 1, code };
}

/** A protected text may hold escapes and markup itself: as written, and with all of them undone. */
function letterForms(text: string): readonly (readonly number[])[] {
  const written = lettersOf(text, () => null);
  const undone = lettersOf(text, (at) => readToken(text, at, true) ?? null);
  const forms = written.join() === undone.join() ? [written] : [written, undone];
  return forms.filter((letters) => letters.length >= MIN_LETTERS);
}

function lettersOf(text: string, tokenAt: (at: number) => Reading | null): readonly number[] {
  const letters: number[] = [];
  for (let at = 0; at < text.length; ) {
    const symbol = tokenAt(at) ?? (readCharacter(text, at, true) as Reading);
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
