/**
 * The disclosure guard (P-2.5): stops an outgoing answer that repeats a system prompt.
 *
 * Answer and protected texts are compared by their letters alone: case, accents, spacing, punctuation, digits, quoting,
 * numbered lines and invisible characters make no difference. Written escapes and entities are read both ways, as they
 * are written and as what they stand for, HTML tags and the targets of links with and without them, in any mixture
 * (`match-states.ts`). The protected texts are also looked for backwards by letters and by words, in ROT13, and in the Base64
 * and hex of their bytes.
 *
 * G1. An answer with WINDOW_LETTERS letters or WINDOW_WORDS words in a row out of a protected text is cut where they begin;
 *     the refusal follows once, and then nothing more. A shorter text counts as a whole, from MIN_LETTERS on; fewer letters
 *     are not protected, whatever their words.
 * G2. Any other answer is released unchanged, and the output does not depend on the cuts.
 * G3. Each character is read once; held back is only the running match, at most `maxHeldChars`.
 *
 * Limits: paraphrase, translation, look-alike letters of another script, extra words or letters within every window
 * (markup other than HTML and links adds such, as `\textbf{}` does), more than MAX_GAP characters between two letters,
 * tags and targets of more than MAX_DECORATION_CHARS, entities for letters that `escape-token.ts` does not know, and the
 * Base64 of a reformatted prompt get through. The guard is the last line; that prompts hold no secrets is the first.
 */
import type { JsonValue } from "../vocabulary/parse-json.ts";
import type { Transducer } from "../vocabulary/transducer.ts";
import { MAX_DECORATION_CHARS, readDecoration } from "./decoration.ts";
import { MAX_ESCAPE_CHARS, readEscape, startsEscape } from "./escape-token.ts";
import { compileDisclosureFilter } from "./filter-views.ts";
import { foldLetters } from "./fold-letters.ts";
import { earliestHeld, MatchStates } from "./match-states.ts";
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
/** However short they are. */
const WINDOW_WORDS = 8;
export const MIN_LETTERS = 20;
export const DISCLOSURE_REFUSAL =
  "I can't share my instructions. They describe how I should behave, which tools I may use and what to keep safe; ask me what I can do and I will gladly explain that.";

/** Other characters in a row within one match. */
const MAX_GAP = 1024;
const OWNER = 0;

interface Reading {
  readonly length: number;
  readonly code: number;
}

export interface DisclosureState {
  /** The offset in the stream of the first held character. */
  readonly base: number;
  readonly held: string;
  /** How many of the held characters have been read. */
  readonly read: number;
  /** The match states of letters, Base64 and hex. */
  readonly tracks: readonly (readonly Tracking[])[];
  readonly bypasses: readonly { readonly to: number; readonly tracks: readonly (readonly Tracking[])[] }[];
  readonly stopped: boolean;
}

/** The match states that skip a decoration, until those that read it reach its end. */
interface Bypass {
  readonly to: number;
  readonly matchStates: readonly MatchStates[];
}

export interface DisclosureGuard extends Transducer<string, string, DisclosureState> {
  readonly maxHeldChars: number;
  /** False only if this, as a whole answer, is released unchanged. */
  readonly mayStop: (answer: string) => boolean;
}

export function compileDisclosureGuard(protectedTexts: readonly string[]): DisclosureGuard {
  const texts = protectedTexts
    .map((text) => ({ words: wordsOf(text), forms: letterForms(text), bytes: utf8(text) }))
    .filter(({ forms }) => forms.length > 0);
  const digits = (width: number): readonly Needle[] =>
    texts.flatMap(({ bytes }) => digitNeedles(bytes, width, OWNER, WINDOW_LETTERS));
  const letters = texts.flatMap(({ words, forms }) => [...forms.flatMap(letterNeedles), ...wordNeedles(words)]);
  const [base64, hex] = [digits(BASE64_BITS), digits(HEX_BITS)];
  let compiled: readonly SubstringAutomaton[] | null = null;
  // Compiled at the first answer that needs them.
  const automata = (): readonly SubstringAutomaton[] => {
    compiled ??= [letters, base64, hex].map(compileNeedles);
    return compiled;
  };
  return {
    mayStop: compileDisclosureFilter({ letters, base64, hex }),
    maxHeldChars: 2 * WINDOW_LETTERS * (MAX_GAP + MAX_ESCAPE_CHARS) + MAX_DECORATION_CHARS,
    start: () => ({ base: 0, held: "", read: 0, tracks: [[], [], []], bypasses: [], stopped: false }),
    push: (state, chunk) => guardChunk(automata(), state, chunk, false),
    finish: (state) => guardChunk(automata(), state, "", true)[1],
  };
}

/** The whole answer at once, and whether it had to be stopped. */
export function guardAnswer(
  guard: DisclosureGuard,
  answer: string,
): { readonly text: string; readonly stopped: boolean } {
  if (!guard.mayStop(answer)) return { text: answer, stopped: false };
  const [state, released] = guard.push(guard.start(), answer);
  const text = released + guard.finish(state);
  return { text, stopped: text !== answer };
}

/** Each text of a value, such as the arguments of a call: a prompt must not leave by a file or a message either. */
export function guardJson(guard: DisclosureGuard, value: JsonValue): JsonValue {
  if (typeof value === "string") return guardAnswer(guard, value).text;
  if (Array.isArray(value)) return value.map((item: JsonValue) => guardJson(guard, item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, guardJson(guard, item)]));
}

function guardChunk(
  automata: readonly SubstringAutomaton[],
  state: DisclosureState,
  chunk: string,
  isFinal: boolean,
): readonly [DisclosureState, string] {
  if (state.stopped) return [state, ""];
  const text = state.held + chunk;
  const reader = new AnswerReader(automata, state);
  const read = reader.readOn(text, state.read, isFinal);
  if (reader.hit !== null) {
    const { from } = reader.hit;
    const clean = text.slice(0, from - state.base);
    return [{ base: from, held: "", read: 0, tracks: [], bypasses: [], stopped: true }, clean + DISCLOSURE_REFUSAL];
  }
  const settled = isFinal ? text.length : Math.min(reader.heldFrom() - state.base, read);
  const next = { base: state.base + settled, held: text.slice(settled), read: read - settled, stopped: false };
  return [{ ...next, ...reader.progress() }, text.slice(0, settled)];
}

class AnswerReader {
  readonly #base: number;
  readonly #matchStates: readonly MatchStates[];
  #bypasses: readonly Bypass[];
  hit: Hit | null = null;

  constructor(automata: readonly SubstringAutomaton[], state: DisclosureState) {
    const matchStatesOf = (tracks: readonly (readonly Tracking[])[]): readonly MatchStates[] =>
      automata.map((automaton, view) => MatchStates.from(automaton, MAX_GAP, tracks[view] as readonly Tracking[]));
    this.#base = state.base;
    this.#matchStates = matchStatesOf(state.tracks);
    this.#bypasses = state.bypasses.map(({ to, tracks }) => ({ to, matchStates: matchStatesOf(tracks) }));
  }

  /** Returns how far it came: up to the first hit, or to what may not be complete. */
  readOn(text: string, from: number, isFinal: boolean): number {
    let at = from;
    while (at < text.length && this.hit === null) {
      const start = this.#base + at;
      const decoration = readDecoration(text, at, isFinal);
      const undone = startsEscape(text.charCodeAt(at)) ? readEscape(text, at, isFinal) : null;
      const symbol = undone === null ? readCharacter(text, at, isFinal) : undone;
      if (decoration === undefined || symbol === undefined) break;
      this.#joinBypasses(start);
      if (decoration > 0) this.#bypass(start, decoration);
      if (undone === null) this.#read(this.#matchStates, symbol, start);
      else this.#readBothWays(text.slice(at, at + symbol.length), symbol, start);
      at += symbol.length;
    }
    return at;
  }

  heldFrom(): number {
    const bypassing = this.#bypasses.map(({ matchStates }) => earliestHeld(matchStates));
    return Math.min(earliestHeld(this.#matchStates), ...bypassing);
  }

  progress(): Pick<DisclosureState, "tracks" | "bypasses"> {
    const tracksOf = (matchStates: readonly MatchStates[]) => matchStates.map((matchState) => matchState.tracks());
    return {
      tracks: tracksOf(this.#matchStates),
      bypasses: this.#bypasses.map(({ to, matchStates }) => ({ to, tracks: tracksOf(matchStates) })),
    };
  }

  #bypass(from: number, length: number): void {
    const matchStates = this.#matchStates.map((matchState) => matchState.fork());
    for (const matchState of matchStates) matchState.read(SKIPPED, from, length);
    this.#bypasses = [...this.#bypasses, { to: from + length, matchStates }];
  }

  #joinBypasses(at: number): void {
    if (this.#bypasses.length === 0) return;
    const [ended, open] = [this.#bypasses.filter(({ to }) => to <= at), this.#bypasses.filter(({ to }) => to > at)];
    for (const { matchStates } of ended) this.#join(matchStates);
    if (ended.length > 0) this.#bypasses = open;
  }

  #readBothWays(source: string, undone: Reading, from: number): void {
    const asWritten = this.#matchStates.map((matchState) => matchState.fork());
    for (let at = 0; at < source.length; at += 1) {
      this.#read(asWritten, { length: 1, code: source.charCodeAt(at) }, from + at);
    }
    this.#read(this.#matchStates, undone, from);
    this.#join(asWritten);
  }

  #join(others: readonly MatchStates[]): void {
    this.#matchStates.forEach((matchState, view) => {
      matchState.join(others[view] as MatchStates);
    });
  }

  #read(matchStates: readonly MatchStates[], { code, length }: Reading, at: number): void {
    const [letters, base64, hex] = matchStates as readonly [MatchStates, MatchStates, MatchStates];
    const folded = foldLetters(code);
    if (folded.length === 0) letters.read(SKIPPED, at, length);
    for (const letter of folded) this.hit ??= letters.read(letter, at, length);
    this.hit ??= base64.read(READINGS.base64[code] ?? FOREIGN, at, length);
    this.hit ??= hex.read(READINGS.hex[code] ?? FOREIGN, at, length);
  }
}

/** Undefined when only half of it is there. */
function readCharacter(text: string, at: number, isFinal: boolean): Reading | undefined {
  const isOpen = (text.charCodeAt(at) & 0xfc00) === 0xd800 && at + 1 === text.length && !isFinal;
  const code = text.codePointAt(at) as number;
  return isOpen ? undefined : { length: code > 0xffff ? 2 : 1, code };
}

/** A protected text may hold escapes and markup itself: as written, and with all of them undone. */
function letterForms(text: string): readonly (readonly number[])[] {
  const written = lettersOf(text, false);
  const undone = lettersOf(text, true);
  const forms = written.join() === undone.join() ? [written] : [written, undone];
  return forms.filter((letters) => letters.length >= MIN_LETTERS);
}

function lettersOf(text: string, isUndone: boolean): readonly number[] {
  const letters: number[] = [];
  for (let at = 0; at < text.length; ) {
    const decoration = isUndone ? (readDecoration(text, at, true) as number) : 0;
    const undone = isUndone && startsEscape(text.charCodeAt(at)) ? readEscape(text, at, true) : null;
    const symbol = undone ?? (readCharacter(text, at, true) as Reading);
    if (decoration === 0) letters.push(...foldLetters(symbol.code));
    at += Math.max(decoration, symbol.length);
  }
  return letters;
}

function letterNeedles(letters: readonly number[]): readonly Needle[] {
  const gram = Math.min(WINDOW_LETTERS, letters.length);
  return [letters, letters.toReversed(), letters.map(rot13)].map((symbols) => ({ symbols, owner: OWNER, gram }));
}

/** Blanks divide words; what has no letters is none. */
function wordsOf(text: string): readonly (readonly number[])[] {
  return text
    .split(/\s+/u)
    .map((word) => lettersOf(word, false))
    .filter((word) => word.length > 0);
}

/** The words in reverse order, and the runs of words that have fewer letters than a window. */
function wordNeedles(words: readonly (readonly number[])[]): readonly Needle[] {
  const backwards = words.toReversed();
  const letters = backwards.flat();
  const reversed =
    letters.length < MIN_LETTERS
      ? []
      : [{ symbols: letters, owner: OWNER, gram: Math.min(WINDOW_LETTERS, letters.length) }];
  const inOrder = shortRuns(words);
  const runs = [...inOrder, ...inOrder.map((run) => run.toReversed()), ...shortRuns(backwards)];
  return [...reversed, ...runs.map((symbols) => ({ symbols, owner: OWNER, gram: symbols.length }))];
}

function shortRuns(words: readonly (readonly number[])[]): readonly (readonly number[])[] {
  return words.flatMap((_, at) => {
    const run = words.slice(at, at + WINDOW_WORDS);
    const letters = run.flat();
    const isShort = letters.length >= MIN_LETTERS && letters.length < WINDOW_LETTERS;
    return run.length === WINDOW_WORDS && isShort ? [letters] : [];
  });
}

function rot13(letter: number): number {
  return letter >= 0x61 && letter <= 0x7a ? ((letter - 0x61 + 13) % 26) + 0x61 : letter;
}
