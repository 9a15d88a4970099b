/**
 * The first bytes of a stream; the rest is counted as dropped.
 *
 * O1. It never holds more than twice what it keeps, however small the pieces come in.
 * O2. Exactly `maxBytes` are no cut; one byte more is.
 */
const FIRST_BYTES = 4096;

export class BoundedOutput {
  readonly #maxBytes: number;
  #held: Uint8Array;
  #length = 0;
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#held = new Uint8Array(Math.min(FIRST_BYTES, maxBytes));
  }

  /** What of this piece was kept. */
  add(piece: Uint8Array): Uint8Array {
    const kept = piece.subarray(0, this.#maxBytes - this.#length);
    if (kept.length < piece.length) this.#isCut = true;
    this.#makeRoom(this.#length + kept.length);
    this.#held.set(kept, this.#length);
    this.#length += kept.length;
    return kept;
  }

  get bytes(): Uint8Array {
    return this.#held.subarray(0, this.#length);
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  #makeRoom(neededBytes: number): void {
    if (neededBytes <= this.#held.length) return;
    const larger = new Uint8Array(Math.min(this.#maxBytes, Math.max(neededBytes, 2 * this.#held.length)));
    larger.set(this.#held);
    this.#held = larger;
  }
}
