/**
 * The feed: a doorbell for user interfaces. It says which record has changed, never to what; the reader reads the record.
 *
 * F1. A record is heard of after its change is durable, and at least once after its last change.
 * F2. Each record is kept once, at its latest change, so a reader that was away hears of all it missed. How many are kept is
 *     bounded: one whose cursor is older than that, or of another process, hears `reset` and reads again what it shows.
 * F3. A reader hears of one record at most once in SPACING_MS; it holds nothing here but its place.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import { StoreError } from "../../runtime/ports/store.ts";

export const RECORD_KINDS = [
  "run",
  "approval",
  "session",
  "capability",
  "budget",
  "config",
  "policy",
  "token",
  "browser_session",
  "secret",
  "outbox",
  "pairing",
  "model",
  "mark",
  "ghost",
  "governance",
  "job",
  "memory",
] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

/** `id` is null for a record there is one of, and where any of its kind may have changed. */
export interface ChangedRecord {
  readonly record: RecordKind;
  readonly id: string | null;
}

/** `cursor` names the place after it. */
export type FeedUpdate =
  /** First of all, for a reader without a cursor. */
  | { readonly kind: "ready"; readonly cursor: string }
  | { readonly kind: "reset"; readonly cursor: string }
  | { readonly kind: "changed"; readonly cursor: string; readonly changed: ChangedRecord };

const SPACING_MS = 100;
const MAX_RECORDS = 4_096;

interface Kept extends ChangedRecord {
  readonly place: number;
}

export class Feed {
  readonly #clock: Pick<Clock, "wake">;
  readonly #processId: string;
  readonly #maxRecords: number;
  /** By kind and id, in the order of their latest changes. */
  readonly #kept = new Map<string, Kept>();
  readonly #readers = new Set<() => void>();
  #place = 0;
  /** Changes up to here may be forgotten. */
  #forgotten = 0;
  #isClosed = false;

  /** `processId`: a cursor of another process means nothing here. */
  constructor(clock: Pick<Clock, "wake">, processId: string, maxRecords = MAX_RECORDS) {
    this.#clock = clock;
    this.#processId = processId;
    this.#maxRecords = maxRecords;
  }

  changed(record: RecordKind, id: string | null): void {
    const key = id === null ? record : `${record} ${id}`;
    this.#place += 1;
    this.#kept.delete(key);
    this.#kept.set(key, { record, id, place: this.#place });
    if (this.#kept.size > this.#maxRecords) this.#forgetOldest();
    for (const wakeUp of this.#readers) wakeUp();
  }

  /** Ends when the signal aborts; throws when the feed closes. */
  async *follow(after: string | null, signal: AbortSignal): AsyncGenerator<FeedUpdate, void> {
    let wakeUp = (): void => {};
    const onChange = (): void => wakeUp();
    this.#readers.add(onChange);
    signal.addEventListener("abort", onChange);
    try {
      let place = after === null ? null : this.#placeOf(after);
      if (place === null) {
        place = this.#place;
        yield { kind: after === null ? "ready" : "reset", cursor: this.#cursorAt(place) };
      }
      while (!signal.aborted) {
        if (this.#isClosed) throw new StoreError("store.unavailable", "Storage is unavailable; retry.");
        const from = place;
        place = this.#place;
        if (from < this.#forgotten) yield { kind: "reset", cursor: this.#cursorAt(place) };
        else {
          for (const { record, id, place: at } of this.#after(from)) {
            yield { kind: "changed", cursor: this.#cursorAt(at), changed: { record, id } };
          }
        }
        if (place > from) await this.#pause(signal);
        while (this.#place === place && !signal.aborted && !this.#isClosed) {
          await new Promise<void>((resolve) => {
            wakeUp = resolve;
          });
        }
      }
    } finally {
      this.#readers.delete(onChange);
      signal.removeEventListener("abort", onChange);
    }
  }

  /** What is stored has to be read again: readers come back to another feed. */
  close(): void {
    this.#isClosed = true;
    for (const wakeUp of this.#readers) wakeUp();
  }

  /** A copy: the map goes on changing while a slow reader takes it. */
  #after(place: number): readonly Kept[] {
    return [...this.#kept.values()].filter((kept) => kept.place > place);
  }

  #forgetOldest(): void {
    for (const [key, { place }] of this.#kept) {
      this.#kept.delete(key);
      this.#forgotten = place;
      return;
    }
  }

  #cursorAt(place: number): string {
    return `${this.#processId}.${place}`;
  }

  /** Null for a cursor that was not given out here. */
  #placeOf(cursor: string): number | null {
    const place = Number(cursor.slice(this.#processId.length + 1));
    const isOurs = Number.isSafeInteger(place) && place >= 0 && place <= this.#place;
    return isOurs && cursor === this.#cursorAt(place) ? place : null;
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        signal.removeEventListener("abort", settle);
        resolve();
      };
      const cancel = this.#clock.wake(SPACING_MS, settle);
      signal.addEventListener("abort", settle);
    });
  }
}
