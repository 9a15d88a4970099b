/** Credentials of one sort as they count now, by digest and by id. Whatever leaves here ends what it opened. */
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Grant } from "./grant.ts";

export interface Kept {
  readonly id: string;
  readonly digest: Hash;
  readonly createdAtMs: number;
}

interface Held<Record extends Kept> {
  readonly record: Record;
  readonly grant: Grant;
  readonly ending: AbortController;
}

export class HeldCredentials<Record extends Kept> {
  readonly #byDigest = new Map<string, Held<Record>>();
  readonly #digests = new Map<string, Hash>();

  find(digest: string): Held<Record> | null {
    return this.#byDigest.get(digest) ?? null;
  }

  get(id: string): Record | null {
    return this.find(this.#digests.get(id) ?? "")?.record ?? null;
  }

  /** Oldest first. */
  all(): readonly Record[] {
    const records = [...this.#byDigest.values()].map(({ record }) => record);
    return records.toSorted((one, other) => one.createdAtMs - other.createdAtMs);
  }

  /** One of the same id is replaced. */
  put(record: Record, grantWith: (ended: AbortSignal) => Grant): void {
    this.remove(record.id);
    const ending = new AbortController();
    this.#byDigest.set(record.digest, { record, grant: grantWith(ending.signal), ending });
    this.#digests.set(record.id, record.digest);
  }

  /** What it lets in stays; nothing ends. */
  note(record: Record): void {
    const held = this.find(record.digest);
    if (held !== null) this.#byDigest.set(record.digest, { ...held, record });
  }

  remove(id: string): void {
    const digest = this.#digests.get(id);
    if (digest === undefined) return;
    const held = this.find(digest);
    this.#digests.delete(id);
    this.#byDigest.delete(digest);
    held?.ending.abort();
  }
}
