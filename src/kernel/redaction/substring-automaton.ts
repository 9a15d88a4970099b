/**
 * Which end of a stream occurs somewhere in a set of needles? A suffix automaton over all needles answers for each
 * symbol in amortised constant time. After each symbol it is at the longest end that occurs in a needle; a match that
 * completes later starts no earlier, so everything before it is settled. An end is a hit when it is a fragment of at
 * least `gram` symbols of some needle.
 */
export interface Needle {
  readonly symbols: readonly number[];
  readonly owner: number;
  /** How many symbols in a row are too many to let through. */
  readonly gram: number;
}

export interface SubstringAutomaton {
  readonly radix: number;
  /** By node * radix + symbol. */
  readonly next: ReadonlyMap<number, number>;
  /** The same from the root, by symbol alone: most of a text leads back there. 0 for no edge, since none leads to it. */
  readonly fromRoot: Int32Array;
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

export function compileNeedles(needles: readonly Needle[]): SubstringAutomaton {
  const radix = 1 + needles.flatMap(({ symbols }) => symbols).reduce((a, b) => Math.max(a, b), 0);
  const next = new Map<number, number>();
  const link = [-1];
  const longest = [0];
  const gram = [Number.POSITIVE_INFINITY];
  const owner = [-1];
  const outgoing: number[][] = [[]];

  const target = (node: number, symbol: number): number | undefined => next.get(node * radix + symbol);
  const connect = (node: number, symbol: number, to: number): void => {
    next.set(node * radix + symbol, to);
  };
  const addNode = (length: number): number => {
    link.push(ROOT);
    longest.push(length);
    gram.push(Number.POSITIVE_INFINITY);
    owner.push(-1);
    outgoing.push([]);
    return link.length - 1;
  };
  /** Splits off the strings of `node` that are reached from `from` and shorter than the rest. */
  const split = (node: number, from: number, symbol: number): number => {
    const copy = addNode((longest[from] as number) + 1);
    for (const out of outgoing[node] as number[]) connect(copy, out, target(node, out) as number);
    outgoing[copy] = [...(outgoing[node] as number[])];
    link[copy] = link[node] as number;
    link[node] = copy;
    for (let at = from; at >= ROOT && target(at, symbol) === node; at = link[at] as number) connect(at, symbol, copy);
    return copy;
  };
  /** The class of the string that is one symbol longer, split off when it shares a node with longer ones. */
  const classOf = (node: number, from: number, symbol: number): number =>
    longest[node] === (longest[from] as number) + 1 ? node : split(node, from, symbol);
  const append = (last: number, symbol: number): number => {
    const known = target(last, symbol);
    if (known !== undefined) return classOf(known, last, symbol);
    const added = addNode((longest[last] as number) + 1);
    let at = last;
    for (; at >= ROOT && target(at, symbol) === undefined; at = link[at] as number) {
      connect(at, symbol, added);
      (outgoing[at] as number[]).push(symbol);
    }
    if (at >= ROOT) link[added] = classOf(target(at, symbol) as number, at, symbol);
    return added;
  };
  const claim = (node: number, by: { readonly gram: number; readonly owner: number }): void => {
    const held = gram[node] as number;
    if (by.gram > held || (by.gram === held && by.owner >= (owner[node] as number))) return;
    gram[node] = by.gram;
    owner[node] = by.owner;
  };

  for (const needle of needles) {
    let last = ROOT;
    for (const symbol of needle.symbols) {
      last = append(last, symbol);
      claim(last, needle);
    }
  }
  const byLength = longest.map((_, node) => node).sort((a, b) => (longest[a] as number) - (longest[b] as number));
  for (const node of byLength.toReversed()) {
    const above = link[node] as number;
    if (above > ROOT) claim(above, { gram: gram[node] as number, owner: owner[node] as number });
  }
  const hitAbove = longest.map(() => -1);
  for (const node of byLength) {
    const above = link[node] as number;
    if (above <= ROOT) continue;
    hitAbove[node] = (longest[above] as number) >= (gram[above] as number) ? above : (hitAbove[above] as number);
  }
  const fromRoot = new Int32Array(radix);
  for (const symbol of outgoing[ROOT] as number[]) fromRoot[symbol] = target(ROOT, symbol) as number;
  return { radix, next, fromRoot, link, longest, gram, owner, hitAbove };
}

/** The position of a stream in an automaton, and where in the source the matching end began. */
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
  /** How many of the starts are this tracker's; the tracker that shares the array may have added more. */
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

  fork(): SubstringTracker {
    const { node, length, gap } = { node: this.#node, length: this.#length, gap: this.#gap };
    const twin = new SubstringTracker(this.#automaton, this.#maxGap, { node, length, gap, starts: this.#starts });
    twin.#startCount = this.#startCount;
    return twin;
  }

  follow(symbol: number, start: number): Hit | null {
    const { radix, next, fromRoot, link, longest } = this.#automaton;
    // A symbol without an edge from the root is in no needle.
    const first = symbol < radix ? (fromRoot[symbol] as number) : ROOT;
    if (first === ROOT) {
      this.reset();
      return null;
    }
    let node = this.#node;
    let length = this.#length;
    let to = node === ROOT ? first : next.get(node * radix + symbol);
    while (to === undefined) {
      node = link[node] as number;
      length = longest[node] as number;
      to = node === ROOT ? first : next.get(node * radix + symbol);
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

  /** Symbols that do not count; too many of them in a row end the match, so that the held text stays bounded. */
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

  /** Is this one at an end of the other's match? Then the other finds everything this one can. */
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
