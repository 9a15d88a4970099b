/**
 * The entries that one step adds to a run's journal. They are encoded, hashed and linked on first use, usually when the
 * store sends them, so that the model is asked before the journal is written. Reading one links all before it. Transitions
 * and encoded entries are dropped as soon as they are used, because many may be waiting for the disk.
 */
import { linkEntries, type Transition } from "../../kernel/journal/chain.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { toLine } from "../../kernel/journal/journal-lines.ts";
import type { Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { StoredBody, StoredRun, Write } from "../ports/store.ts";

/** The last hash of a journal. */
export interface JournalEnd {
  readonly head: Hash;
}

export class PendingEntries implements JournalEnd {
  #before: JournalEnd;
  /** Null once they are linked. */
  #transitions: readonly Transition[] | null;
  #entries: readonly Entry[] = [];
  #encoded: readonly string[] | null = null;
  #head: Hash | null = null;

  constructor(before: JournalEnd, transitions: readonly Transition[]) {
    this.#before = before;
    this.#transitions = transitions;
  }

  /** The hash that the first of them is linked to. */
  get prev(): Hash {
    if (this.#before instanceof PendingEntries) this.#before = { head: this.#before.head };
    return this.#before.head;
  }

  get head(): Hash {
    this.#link();
    return this.#head ?? this.prev;
  }

  get entries(): readonly Entry[] {
    this.#link();
    return this.#entries;
  }

  get lines(): readonly string[] {
    return this.entries.map(toLine);
  }

  /** The entries as stored; handed out once. */
  takeEncoded(): readonly string[] | null {
    this.#link();
    const encoded = this.#encoded;
    this.#encoded = null;
    return encoded;
  }

  #link(): void {
    if (this.#transitions === null) return;
    const { entries, encoded, head } = linkEntries(this.prev, this.#transitions);
    this.#transitions = null;
    this.#entries = entries;
    this.#encoded = encoded;
    this.#head = head;
  }
}

type AppendEntries = Extract<Write, { readonly type: "append-entries" }>;

/** The write of pending entries; they are encoded when the store sends it. */
export class AppendPendingEntries implements AppendEntries {
  readonly type = "append-entries";
  readonly runId: RunId;
  readonly epoch: number;
  readonly bodies: readonly StoredBody[];
  readonly #afterSeq: number;
  readonly #pending: PendingEntries;

  constructor(
    { runId, epoch }: Pick<StoredRun, "runId" | "epoch">,
    afterSeq: number,
    pending: PendingEntries,
    bodies: readonly StoredBody[],
  ) {
    this.runId = runId;
    this.epoch = epoch;
    this.bodies = bodies;
    this.#afterSeq = afterSeq;
    this.#pending = pending;
  }

  get after(): AppendEntries["after"] {
    return { seq: this.#afterSeq, hash: this.#pending.prev };
  }

  get lines(): readonly string[] {
    return this.#pending.lines;
  }

  takeEncoded(): readonly string[] | null {
    return this.#pending.takeEncoded();
  }

  get head(): Hash {
    return this.#pending.head;
  }
}
