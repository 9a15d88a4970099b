/**
 * The vectors of memories, for one embedding model. Loaded only where a model is configured.
 *
 * V1. A batch at a time is embedded while no run is at work, and nothing is left waiting by it. The store says where to go on,
 *     so another model begins from the start and the vectors of the one before are dropped.
 * V2. After a failure words alone are searched, with one line in the log; the next batch waits longer each time.
 * V3. A vector is kept as its direction in signed bytes: a quarter of the room, and the order of near memories is the same but
 *     for ties.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Embedder } from "../../runtime/ports/embedder.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { FoundMemory, MemoryFilter, MemoryVector } from "../../runtime/ports/stored-memory.ts";

export interface EmbeddingIndexParts {
  readonly store: Pick<Store, "commit" | "unembeddedMemories" | "nearestMemories">;
  readonly clock: Pick<Clock, "wake">;
  readonly embedder: Embedder;
  readonly isBusy: () => boolean;
  /** One line for the log. */
  readonly onFailure: (error: unknown) => void;
}

const BATCH = 64;
/** Of one memory. */
const MAX_CHARS = 4_000;
const DELAY_MS = 500;
/** Between two batches. */
const PAUSE_MS = 10;
const MAX_DELAY_MS = 600_000;
/** A run waits for this while its prompt is put together. */
const QUERY_TIMEOUT_MS = 3_000;
const BATCH_TIMEOUT_MS = 120_000;

export class EmbeddingIndex {
  readonly #parts: EmbeddingIndexParts;
  #cancel: (() => void) | null = null;
  #working: Promise<void> | null = null;
  readonly #closing = new AbortController();
  #delayMs = DELAY_MS;
  #hasFailed = false;

  constructor(parts: EmbeddingIndexParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.embedder.name;
  }

  /** Memories may have come since. */
  wake(delayMs = this.#delayMs): void {
    if (this.#cancel !== null || this.#working !== null || this.#closing.signal.aborted) return;
    this.#cancel = this.#parts.clock.wake(delayMs, () => {
      this.#cancel = null;
      if (this.#parts.isBusy()) {
        this.wake();
        return;
      }
      this.#working = this.#work().then((isMore) => {
        this.#working = null;
        if (isMore) this.wake(this.#hasFailed ? this.#delayMs : PAUSE_MS);
      });
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancel?.();
    await this.#working;
  }

  /** Null: the model cannot be used now. */
  async nearest(text: string, filter: MemoryFilter, limit: number): Promise<readonly FoundMemory[] | null> {
    const { store, embedder } = this.#parts;
    try {
      const [vector] = await embedder.embed([text.slice(0, MAX_CHARS)], this.#within(QUERY_TIMEOUT_MS));
      const direction = vector === undefined ? "" : directionOf(vector);
      const found = direction === "" ? [] : await store.nearestMemories(embedder.name, direction, filter, limit);
      this.#hasFailed = false;
      return found;
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  /** Embeds the next batch; true where there is more to do. */
  async #work(): Promise<boolean> {
    const { store, embedder } = this.#parts;
    try {
      const next = await store.unembeddedMemories(embedder.name, BATCH);
      if (next.length === 0) return false;
      const texts = next.map(({ text }) => text.slice(0, MAX_CHARS));
      const vectors = await embedder.embed(texts, this.#within(BATCH_TIMEOUT_MS));
      const made = next.map(({ position }, at): MemoryVector => {
        const vector = vectors[at];
        return { position, vector: vector === undefined ? "" : directionOf(vector) };
      });
      await store.commit([{ type: "put-memory-vectors", model: embedder.name, vectors: made }], "lazy");
      this.#delayMs = DELAY_MS;
      this.#hasFailed = false;
      return true;
    } catch (error) {
      this.#failed(error);
      this.#delayMs = Math.min(2 * this.#delayMs, MAX_DELAY_MS);
      return !this.#closing.signal.aborted;
    }
  }

  #within(timeoutMs: number): AbortSignal {
    return AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)]);
  }

  #failed(error: unknown): void {
    if (!this.#hasFailed && !this.#closing.signal.aborted) this.#parts.onFailure(error);
    this.#hasFailed = true;
  }
}

const MOST = 127;

/** Base64; empty for a vector without a direction. */
function directionOf(vector: ArrayLike<number>): string {
  const values = Array.from(vector);
  const most = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  if (!Number.isFinite(most) || most === 0) return "";
  return Buffer.from(Int8Array.from(values, (value) => Math.round((value / most) * MOST)).buffer).toString("base64");
}
