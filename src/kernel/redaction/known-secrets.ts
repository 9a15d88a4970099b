/**
 * The first stage of redaction: every loaded secret, in every encoding of `secret-encodings.ts`, found exactly. Text is
 * read through all views, and in each view every escape both as it is written and undone, in any mixture
 * (`match-states.ts`). Everything any reading finds is covered; overlapping stretches become one marker.
 *
 * The output does not depend on the cuts: text is released once no match that covers it can still complete. A stretch
 * that is exactly a loaded value becomes its handle; every other stretch is lost for good. Our own markers are walls
 * that no match crosses, so redacting twice changes nothing. Only the labels given count as ours: a value cannot be
 * hidden as a made-up marker.
 */
import { type EscapeToken, MAX_ESCAPE_CHARS, readEscape, startsEscape } from "./escape-token.ts";
import { compileSecretFilter } from "./filter-views.ts";
import { earliestHeld, MatchStates } from "./match-states.ts";
import { handleOf, holeOf, mayHoldMarker, readMarker, startsMarker } from "./redaction-marker.ts";
import { isInvisible, needlesOf, READINGS, SKIPPED, unitwiseBytes, VIEWS } from "./secret-encodings.ts";
import { compileNeedles, type Needle, type SubstringAutomaton, type Tracking } from "./substring-automaton.ts";

/** Ignored characters in a row within one match: a line end with an indented next line. */
const MAX_GAP = 16;
const NUL = 0;

export interface Secret {
  readonly name: string;
  readonly value: string;
}

export interface KnownSecrets {
  readonly names: readonly string[];
  readonly nameOfValue: ReadonlyMap<string, string>;
  readonly longestValue: number;
  readonly maxHeldChars: number;
  /** False for a text that holds no secret in any encoding. */
  readonly mayHold: (text: string) => boolean;
  readonly automata: () => readonly SubstringAutomaton[];
  readonly markers: ReadonlySet<string>;
}

/** Text that is clean so far, or a marker; `found` is null for a marker that was in the text. */
export type Piece = string | { readonly marker: string; readonly found: string | null };

export interface KnownSecretsState {
  /** The offset in the stream of the first held character. */
  readonly base: number;
  readonly held: string;
  /** How many of the held characters have been read. */
  readonly read: number;
  readonly tracks: readonly (readonly Tracking[])[];
  readonly stretches: readonly Stretch[];
}

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  /** Its marker is out already. */
  readonly told: boolean;
  /** One of our own markers, found in the text. */
  readonly marker: string | null;
}

export function compileKnownSecrets(secrets: readonly Secret[], labels: readonly string[]): KnownSecrets {
  const ofSecrets = secrets.map(({ value }, owner) => needlesOf(value, owner));
  const needles = VIEWS.map((_, view) => ofSecrets.flatMap((views) => views[view] as readonly Needle[]));
  const names = secrets.map(({ name }) => name);
  const longestNeedle = Math.max(0, ...needles.flat().map(({ symbols }) => symbols.length));
  const longestValue = Math.max(0, ...secrets.map(({ value }) => value.length));
  let automata: readonly SubstringAutomaton[] | null = null;
  return {
    names,
    // The first of two names for one value wins.
    nameOfValue: new Map(secrets.toReversed().map(({ name, value }) => [withoutEdges(value), name])),
    longestValue,
    maxHeldChars: longestValue + (longestNeedle + 1) * (MAX_GAP + 1) * MAX_ESCAPE_CHARS,
    mayHold: compileSecretFilter(needles),
    // Compiled at the first text that needs them: most hold no secret.
    automata: () => {
      automata ??= needles.map(compileNeedles);
      return automata;
    },
    markers: new Set([...names.map(handleOf), ...names.map(holeOf), ...labels.map(holeOf)]),
  };
}

/** May reading the whole of this text find a secret, or a marker? If not, it comes out as one piece of clean text. */
export function mayHoldSecrets({ mayHold }: KnownSecrets, text: string): boolean {
  return mayHoldMarker(text) || mayHold(text);
}

export function startKnownSecrets(): KnownSecretsState {
  return { base: 0, held: "", read: 0, tracks: VIEWS.map(() => []), stretches: [] };
}

export function readKnownSecrets(
  known: KnownSecrets,
  state: KnownSecretsState,
  chunk: string,
  isFinal: boolean,
): readonly [KnownSecretsState, readonly Piece[]] {
  const text = state.held + chunk;
  const reader = new StretchReader(known, state);
  const read = reader.readOn(text, state.read, isFinal);
  const settled = isFinal ? state.base + text.length : Math.min(reader.heldFrom(), state.base + read);
  return release(known, { ...state, held: text, read, ...reader.progress() }, settled);
}

/** Lets go of everything before `settled`. */
function release(
  known: KnownSecrets,
  state: KnownSecretsState,
  settled: number,
): readonly [KnownSecretsState, readonly Piece[]] {
  const pieces: Piece[] = [];
  const open: Stretch[] = [];
  let at = state.base;
  const textUpTo = (end: number): void => {
    if (end > at) pieces.push(state.held.slice(at - state.base, end - state.base));
    at = Math.max(at, end);
  };
  for (const stretch of state.stretches) {
    if (stretch.from >= settled) {
      open.push(stretch);
      continue;
    }
    textUpTo(stretch.from);
    const source = state.held.slice(stretch.from - state.base, stretch.to - state.base);
    if (stretch.to <= settled) {
      if (!stretch.told) pieces.push(markerFor(known, stretch, source));
      at = stretch.to;
      continue;
    }
    // It may still grow. Past the longest value it can no longer be one, so it need not be kept.
    const told = stretch.told || source.length > known.longestValue;
    if (told && !stretch.told) pieces.push({ marker: holeOf(stretch.label), found: stretch.label });
    if (told) at = settled;
    open.push({ ...stretch, from: at, told });
  }
  if (open[0] === undefined || open[0].from >= settled) textUpTo(settled);
  const dropped = at - state.base;
  return [{ ...state, base: at, held: state.held.slice(dropped), read: state.read - dropped, stretches: open }, pieces];
}

function markerFor(known: KnownSecrets, stretch: Stretch, source: string): Piece {
  if (stretch.marker !== null) return { marker: stretch.marker, found: null };
  const name = known.nameOfValue.get(source);
  if (name !== undefined) return { marker: handleOf(name), found: name };
  return { marker: holeOf(stretch.label), found: stretch.label };
}

/** A match never starts or ends with what the plain view skips. */
function withoutEdges(value: string): string {
  const counts = (unit: number): boolean => !isInvisible(unit) && (unit > 0x7f || READINGS.plain[unit] !== SKIPPED);
  let from = 0;
  let to = value.length;
  while (from < to && !counts(value.charCodeAt(from))) from += 1;
  while (to > from && !counts(value.charCodeAt(to - 1))) to -= 1;
  return value.slice(from, to);
}

class StretchReader {
  readonly #known: KnownSecrets;
  readonly #base: number;
  readonly #views: readonly MatchStates[];
  readonly #stretches: Stretch[];

  constructor(known: KnownSecrets, state: KnownSecretsState) {
    this.#known = known;
    this.#base = state.base;
    this.#views = known
      .automata()
      .map((automaton, view) => MatchStates.from(automaton, MAX_GAP, state.tracks[view] as readonly Tracking[]));
    this.#stretches = [...state.stretches];
  }

  /** Returns how far it came: an escape or marker that may not be complete is left for the next time. */
  readOn(text: string, from: number, isFinal: boolean): number {
    let at = from;
    while (at < text.length) {
      const unit = text.charCodeAt(at);
      const start = this.#base + at;
      if (startsMarker(unit)) {
        const marker = readMarker(text, at, isFinal);
        if (marker === undefined) return at;
        if (this.#known.markers.has(marker)) {
          this.#wall(start, marker);
          at += marker.length;
          continue;
        }
      }
      const written = startsEscape(unit) ? readEscape(text, at, isFinal) : null;
      if (written === undefined) return at;
      if (written === null) {
        this.#readUnit(this.#views, unit, start, start + 1);
        at += 1;
      } else {
        this.#readBothWays(text.slice(at, at + written.length), written, start);
        at += written.length;
      }
    }
    return at;
  }

  heldFrom(): number {
    return earliestHeld(this.#views);
  }

  progress(): Pick<KnownSecretsState, "tracks" | "stretches"> {
    return { tracks: this.#views.map((view) => view.tracks()), stretches: this.#stretches };
  }

  #readBothWays(source: string, undone: EscapeToken, from: number): void {
    const to = from + source.length;
    const asWritten = this.#views.map((view) => view.fork());
    // Every character of an escape covers the whole escape: a stretch that cut one in two would leave a rest
    // that reads differently the next time.
    for (let at = 0; at < source.length; at += 1) this.#readUnit(asWritten, source.charCodeAt(at), from, to);
    if (undone.isByte) this.#readByte(this.#views, undone.code, from, to);
    else this.#readUnit(this.#views, undone.code, from, to);
    this.#views.forEach((view, index) => {
      view.join(asWritten[index] as MatchStates);
    });
  }

  #readUnit(views: readonly MatchStates[], unit: number, from: number, to: number): void {
    if (unit < 0x80) this.#readByte(views, unit, from, to);
    else if (isInvisible(unit)) this.#readByte(views, NUL, from, to);
    else for (const byte of unitwiseBytes(unit)) this.#readByte(views, byte, from, to);
  }

  #readByte(views: readonly MatchStates[], byte: number, from: number, to: number): void {
    for (let view = 0; view < VIEWS.length; view += 1) {
      const digit = (READING_OF_VIEW[view] as readonly number[])[byte] as number;
      const hit = (views[view] as MatchStates).read(digit, from, 1);
      if (hit !== null) this.#cover(hit.from, to, this.#known.names[hit.owner] as string);
    }
  }

  #cover(from: number, to: number, label: string): void {
    let joined: Stretch = { from, to, label, told: false, marker: null };
    for (let last = this.#stretches.at(-1); last !== undefined && last.to > from; last = this.#stretches.at(-1)) {
      joined = { ...last, from: Math.min(last.from, joined.from), to };
      this.#stretches.pop();
    }
    this.#stretches.push(joined);
  }

  #wall(from: number, marker: string): void {
    for (const view of this.#views) view.reset();
    this.#stretches.push({ from, to: from + marker.length, label: "", told: false, marker });
  }
}

const READING_OF_VIEW = VIEWS.map((view) => READINGS[view]);
