/**
 * Which end of a stream occurs somewhere in a set of needles? A suffix automaton over all needles answers for each
 * symbol in amortised constant time, so neither many secrets nor a long prompt makes a chunk dearer.
 *
 * A1. After each symbol the automaton stands on the longest end of the stream that occurs in a needle. A match that
 *     completes later starts no earlier than that, so everything before it is settled.
 * A2. An end is a hit when it is a fragment of at least `gram` symbols of some needle; the hit covers the longest one.
 */
import { EdgeTable, NO_EDGE } from "./edge-table.ts";

export interface Needle {
  readonly symbols: readonly number[];
  /** Whose needle this is. */
  readonly owner: number;
  /** How many symbols in a row are too many to let through. */
  readonly gram: number;
}

export interface SubstringAutomaton {
  readonly edges: EdgeTable;
  /** The node of the longest proper end that is its own class; -1 for the root. */
  readonly link: readonly number[];
  /** The longest string of a node. */
  readonly longest: readonly number[];
  /** The least `gram` among the needles that hold this node's strings, and whose it is. */
  readonly gram: readonly number[];
  readonly owner: readonly number[];
  /** The nearest node up the links whose longest string is a hit; -1 for none. */
  readonly hitAbove: readonly number[];
}

const ROOT = 0;
/** More than the length of any needle. */
const NEVER = 2 ** 30;

export function compileNeedles(needles: readonly Needle[]): SubstringAutomaton {
  const edges = new EdgeTable();
  const link = [-1];
  const longest = [0];
  const gram = [NEVER];
  const owner = [-1];
  const outgoing: number[][] = [[]];

  const addNode = (length: number): number => {
    link.push(ROOT);
    longest.push(length);
    gram.push(NEVER);
    owner.push(-1);
    outgoing.push([]);
    return link.length - 1;
  };
  /** Splits off the strings of `node` that are reached from `from` and shorter than the rest. */
  const split = (node: number, from: number, symbol: number): number => {
    const copy = addNode((longest[from] as number) + 1);
    for (const out of outgoing[node] as number[]) edges.connect(copy, out, edges.target(node, out));
    outgoing[copy] = (outgoing[node] as number[]).slice();
    link[copy] = link[node] as number;
    link[node] = copy;
    for (let at = from; at >= ROOT && edges.target(at, symbol) === node; at = link[at] as number) {
      edges.connect(at, symbol, copy);
    }
    return copy;
  };
  /** The class of the string that is one symbol longer, split off when it shares a node with longer ones. */
  const classOf = (node: number, from: number, symbol: number): number =>
    longest[node] === (longest[from] as number) + 1 ? node : split(node, from, symbol);
  const append = (last: number, symbol: number): number => {
    const known = edges.target(last, symbol);
    if (known !== NO_EDGE) return classOf(known, last, symbol);
    const added = addNode((longest[last] as number) + 1);
    let at = last;
    for (; at >= ROOT && edges.target(at, symbol) === NO_EDGE; at = link[at] as number) {
      edges.connect(at, symbol, added);
      (outgoing[at] as number[]).push(symbol);
    }
    if (at >= ROOT) link[added] = classOf(edges.target(at, symbol), at, symbol);
    return added;
  };
  const claim = (node: number, byGram: number, byOwner: number): void => {
    const held = gram[node] as number;
    if (byGram > held || (byGram === held && byOwner >= (owner[node] as number))) return;
    gram[node] = byGram;
    owner[node] = byOwner;
  };

  for (const needle of needles) {
    let last = ROOT;
    for (const symbol of needle.symbols) {
      last = append(last, symbol);
      claim(last, needle.gram, needle.owner);
    }
  }
  const byLength = nodesByLength(longest);
  for (let at = byLength.length - 1; at >= 0; at -= 1) {
    const node = byLength[at] as number;
    const above = link[node] as number;
    if (above > ROOT) claim(above, gram[node] as number, owner[node] as number);
  }
  const hitAbove = longest.map(() => -1);
  for (const node of byLength) {
    const above = link[node] as number;
    if (above <= ROOT) continue;
    hitAbove[node] = (longest[above] as number) >= (gram[above] as number) ? above : (hitAbove[above] as number);
  }
  return { edges, link, longest, gram, owner, hitAbove };
}

/** Counted, not compared: lengths are small numbers. */
function nodesByLength(longest: readonly number[]): Int32Array {
  const before = new Int32Array(longest.reduce((most, length) => Math.max(most, length), 0) + 2);
  for (const length of longest) before[length + 1] = (before[length + 1] as number) + 1;
  for (let length = 1; length < before.length; length += 1) {
    before[length] = (before[length] as number) + (before[length - 1] as number);
  }
  const nodes = new Int32Array(longest.length);
  for (const [node, length] of longest.entries()) {
    const place = before[length] as number;
    nodes[place] = node;
    before[length] = place + 1;
  }
  return nodes;
}

/** Where a stream stands in an automaton, and where in the source the matching end began. */
export interface Tracking {
  readonly node: number;
  readonly length: number;
  /** Ignored symbols since the last one that counted. */
  readonly gap: number;
  /** The source offset of each of the last `length` symbols. */
  readonly starts: readonly number[];
}

export interface Hit {
  readonly from: number;
  readonly owner: number;
}

export const NOTHING_TRACKED: Tracking = { node: ROOT, length: 0, gap: 0, starts: [] };

/** The moving part: made from a `Tracking` for the time of one push. */
export class SubstringTracker {
  readonly #automaton: SubstringAutomaton;
  readonly #maxGap: number;
  #node: number;
  #length: number;
  #gap: number;
  #starts: number[];
  /** How many of the starts are this tracker's; who they belong to may have added more. */
  #startCount: number;
  #ownsStarts = false;

  constructor(automaton: SubstringAutomaton, maxGap: number, from: Tracking) {
    this.#automaton = automaton;
    this.#maxGap = maxGap;
    this.#node = from.node;
    this.#length = from.length;
    this.#gap = from.gap;
    // Copied before the first change, see `follow`.
    this.#starts = from.starts as number[];
    this.#startCount = from.starts.length;
  }

  /** A second tracker that stands where this one does. */
  fork(): SubstringTracker {
    const { node, length, gap } = { node: this.#node, length: this.#length, gap: this.#gap };
    const twin = new SubstringTracker(this.#automaton, this.#maxGap, { node, length, gap, starts: this.#starts });
    twin.#startCount = this.#startCount;
    return twin;
  }

  follow(symbol: number, start: number): Hit | null {
    const { edges, link, longest } = this.#automaton;
    let node = this.#node;
    let length = this.#length;
    let to = edges.target(node, symbol);
    while (to === NO_EDGE && node !== ROOT) {
      node = link[node] as number;
      length = longest[node] as number;
      to = edges.target(node, symbol);
    }
    if (to === NO_EDGE) {
      this.reset();
      return null;
    }
    // Only the end counts. Dropping the front now and then keeps it short without moving it at each symbol.
    if (!this.#ownsStarts || this.#startCount > 2 * length + 64) {
      this.#starts = this.#starts.slice(this.#startCount - length, this.#startCount);
      this.#ownsStarts = true;
    }
    this.#gap = 0;
    this.#node = to;
    this.#length = length + 1;
    this.#startCount = this.#starts.push(start);
    return this.#hit();
  }

  /** Symbols that do not count; too many of them in a row end the match, so that what is held back stays bounded. */
  skip(count: number): void {
    if (this.#length === 0) return;
    this.#gap += count;
    if (this.#gap > this.#maxGap) this.reset();
  }

  reset(): void {
    this.#gap = 0;
    this.#node = ROOT;
    this.#length = 0;
  }

  /** Does this one stand on an end of what the other does? Then whatever it can find, the other will. */
  isWithin(other: SubstringTracker): boolean {
    if (this.#length === 0) return true;
    if (this.#length > other.#length || this.#gap < other.#gap) return false;
    const { link, longest } = this.#automaton;
    let node = other.#node;
    while ((longest[link[node] as number] as number) >= this.#length) node = link[node] as number;
    return node === this.#node;
  }

  get length(): number {
    return this.#length;
  }

  /** Where the running match began, or infinity. */
  heldFrom(): number {
    return this.#length === 0 ? Number.POSITIVE_INFINITY : this.#startOf(this.#length);
  }

  tracking(): Tracking {
    if (this.#length === 0) return NOTHING_TRACKED;
    const starts = this.#starts.slice(this.#startCount - this.#length, this.#startCount);
    return { node: this.#node, length: this.#length, gap: this.#gap, starts };
  }

  #hit(): Hit | null {
    const { gram, owner, longest, hitAbove } = this.#automaton;
    const node = this.#node;
    if (this.#length >= (gram[node] as number)) {
      return { from: this.#startOf(this.#length), owner: owner[node] as number };
    }
    const above = hitAbove[node] as number;
    if (above < ROOT) return null;
    return { from: this.#startOf(longest[above] as number), owner: owner[above] as number };
  }

  #startOf(length: number): number {
    return this.#starts[this.#startCount - length] as number;
  }
}
