/**
 * The first `maxBytes` of a stream; the rest is dropped and marks the output as truncated. It never allocates more than
 * twice what it holds, however small the pieces are.
 */
const FIRST_BYTES = 4096;

export class BoundedOutput {
  readonly #maxBytes: number;
  #buffer: Uint8Array;
  #length = 0;
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#buffer = new Uint8Array(Math.min(FIRST_BYTES, maxBytes));
  }

  add(piece: Uint8Array): Uint8Array {
    const fitting = piece.subarray(0, this.#maxBytes - this.#length);
    if (fitting.length < piece.length) this.#isCut = true;
    this.#reserve(this.#length + fitting.length);
    this.#buffer.set(fitting, this.#length);
    this.#length += fitting.length;
    return fitting;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  #reserve(neededBytes: number): void {
    if (neededBytes <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.min(this.#maxBytes, Math.max(neededBytes, 2 * this.#buffer.length)));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}
