/**
 * All readings of one text against one automaton. Where a text can be read in two ways (an escape as it is written or
 * undone), each state continues both ways: a value may hide behind any mixture of the two. Of more than
 * MAX_MATCH_STATES the longest matches stay; only constructed values need more, which repeat themselves in another
 * spelling, as `61aaaaaa` does.
 */
import { FOREIGN, SKIPPED } from "./secret-encodings.ts";
import {
  type Hit,
  NOTHING_TRACKED,
  type SubstringAutomaton,
  SubstringTracker,
  type Tracking,
} from "./substring-automaton.ts";

export const MAX_MATCH_STATES = 8;

export class MatchStates {
  #matchStates: readonly SubstringTracker[];

  constructor(matchStates: readonly SubstringTracker[]) {
    this.#matchStates = matchStates;
  }

  static from(automaton: SubstringAutomaton, maxGap: number, tracks: readonly Tracking[]): MatchStates {
    const first = tracks.length === 0 ? [NOTHING_TRACKED] : tracks;
    return new MatchStates(first.map((track) => new SubstringTracker(automaton, maxGap, track)));
  }

  /** A copy, to read the other way and join again. */
  fork(): MatchStates {
    return new MatchStates(this.#matchStates.map((matchState) => matchState.fork()));
  }

  join(other: MatchStates): void {
    this.#matchStates = [...this.#matchStates, ...other.#matchStates];
    this.#dropNeedless();
  }

  /** Reads a symbol whose source begins at `start`; SKIPPED passes over `width`, FOREIGN ends every match. */
  read(symbol: number, start: number, width: number): Hit | null {
    if (symbol === FOREIGN) {
      this.reset();
      return null;
    }
    if (this.#matchStates.length === 1) {
      const matchState = this.#matchStates[0] as SubstringTracker;
      if (symbol !== SKIPPED) return matchState.follow(symbol, start);
      matchState.skip(width);
      return null;
    }
    let widest: Hit | null = null;
    for (const matchState of this.#matchStates) {
      if (symbol === SKIPPED) matchState.skip(width);
      else {
        const hit = matchState.follow(symbol, start);
        if (hit !== null && (widest === null || hit.from < widest.from)) widest = hit;
      }
    }
    this.#dropNeedless();
    return widest;
  }

  reset(): void {
    if (this.#matchStates.length > 1) this.#matchStates = this.#matchStates.slice(0, 1);
    for (const matchState of this.#matchStates) matchState.reset();
  }

  /** Where the earliest running match began, or infinity. */
  heldFrom(): number {
    return earliestHeld(this.#matchStates);
  }

  tracks(): readonly Tracking[] {
    return this.#matchStates.map((matchState) => matchState.tracking());
  }

  #dropNeedless(): void {
    const running = this.#matchStates.filter(({ length }) => length > 0);
    if (running.length < 2) {
      this.#matchStates = running.length === 1 ? running : this.#matchStates.slice(0, 1);
      return;
    }
    const kept: SubstringTracker[] = [];
    for (const matchState of running) addUnlessNeedless(kept, matchState);
    if (kept.length > MAX_MATCH_STATES) kept.sort((a, b) => b.length - a.length).splice(MAX_MATCH_STATES);
    this.#matchStates = kept;
  }
}

/** Where the earliest text that these hold back begins, or infinity. */
export function earliestHeld(readers: readonly { heldFrom(): number }[]): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (const reader of readers) earliest = Math.min(earliest, reader.heldFrom());
  return earliest;
}

function addUnlessNeedless(kept: SubstringTracker[], matchState: SubstringTracker): void {
  for (let at = kept.length - 1; at >= 0; at -= 1) {
    const other = kept[at] as SubstringTracker;
    if (isNeedlessBeside(matchState, other)) return;
    if (isNeedlessBeside(other, matchState)) kept.splice(at, 1);
  }
  kept.push(matchState);
}

/** The other finds all that this one does, and covers as much of the source. */
function isNeedlessBeside(matchState: SubstringTracker, other: SubstringTracker): boolean {
  return other.heldFrom() <= matchState.heldFrom() && matchState.isWithin(other);
}
