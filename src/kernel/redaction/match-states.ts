/**
 * All readings of one text against one automaton. Where a text can be read in two ways (an escape as it is written or
 * undone), each lane goes on both ways: a value may hide behind any mixture of the two.
 *
 * F1. Lanes that can find nothing another lane would not find are dropped, so ordinary text soon has one lane again.
 * F2. There are never more than MAX_LANES; of more, the longest matches stay. Values that need more are made for it:
 *     they would have to repeat themselves in another spelling, as `61aaaaaa` does.
 */
import { FOREIGN, SKIPPED } from "./secret-encodings.ts";
import {
  type Hit,
  NOTHING_TRACKED,
  type SubstringAutomaton,
  SubstringTracker,
  type Tracking,
} from "./substring-automaton.ts";

export const MAX_LANES = 8;

export class MatchStates {
  #lanes: readonly SubstringTracker[];

  constructor(lanes: readonly SubstringTracker[]) {
    this.#lanes = lanes;
  }

  static from(automaton: SubstringAutomaton, maxGap: number, tracks: readonly Tracking[]): MatchStates {
    const first = tracks.length === 0 ? [NOTHING_TRACKED] : tracks;
    return new MatchStates(first.map((track) => new SubstringTracker(automaton, maxGap, track)));
  }

  /** The same lanes once more, to be read the other way and joined again. */
  fork(): MatchStates {
    return new MatchStates(this.#lanes.map((lane) => lane.fork()));
  }

  join(other: MatchStates): void {
    this.#lanes = [...this.#lanes, ...other.#lanes];
    this.#dropNeedless();
  }

  /** Reads a symbol whose source begins at `start`; SKIPPED passes over `width`, FOREIGN ends every match. */
  read(symbol: number, start: number, width: number): Hit | null {
    if (symbol === FOREIGN) {
      this.reset();
      return null;
    }
    if (this.#lanes.length === 1) {
      const lane = this.#lanes[0] as SubstringTracker;
      if (symbol !== SKIPPED) return lane.follow(symbol, start);
      lane.skip(width);
      return null;
    }
    let widest: Hit | null = null;
    for (const lane of this.#lanes) {
      if (symbol === SKIPPED) lane.skip(width);
      else {
        const hit = lane.follow(symbol, start);
        if (hit !== null && (widest === null || hit.from < widest.from)) widest = hit;
      }
    }
    this.#dropNeedless();
    return widest;
  }

  reset(): void {
    if (this.#lanes.length > 1) this.#lanes = this.#lanes.slice(0, 1);
    for (const lane of this.#lanes) lane.reset();
  }

  /** Where the earliest running match began, or infinity. */
  heldFrom(): number {
    return earliestHeld(this.#lanes);
  }

  tracks(): readonly Tracking[] {
    return this.#lanes.map((lane) => lane.tracking());
  }

  #dropNeedless(): void {
    const running = this.#lanes.filter(({ length }) => length > 0);
    if (running.length < 2) {
      this.#lanes = running.length === 1 ? running : this.#lanes.slice(0, 1);
      return;
    }
    const kept: SubstringTracker[] = [];
    for (const lane of running) addUnlessNeedless(kept, lane);
    if (kept.length > MAX_LANES) kept.sort((a, b) => b.length - a.length).splice(MAX_LANES);
    this.#lanes = kept;
  }
}

/** Where the earliest of what these hold back begins, or infinity. Asked of everything at every piece of a stream. */
export function earliestHeld(readers: readonly { heldFrom(): number }[]): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (const reader of readers) earliest = Math.min(earliest, reader.heldFrom());
  return earliest;
}

function addUnlessNeedless(kept: SubstringTracker[], lane: SubstringTracker): void {
  for (let at = kept.length - 1; at >= 0; at -= 1) {
    const other = kept[at] as SubstringTracker;
    if (isNeedlessBeside(lane, other)) return;
    if (isNeedlessBeside(other, lane)) kept.splice(at, 1);
  }
  kept.push(lane);
}

/** The other finds all that this one does, and covers as much of the source. */
function isNeedlessBeside(lane: SubstringTracker, other: SubstringTracker): boolean {
  return other.heldFrom() <= lane.heldFrom() && lane.isWithin(other);
}
