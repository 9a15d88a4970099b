/**
 * What one step adds to a run's journal. It is put into words, hashed and linked, when somebody asks for it: mostly that
 * is the store when it sends, while a model thinks about what it was asked.
 *
 * P1. Passages are linked in their order: to ask for one is to ask for all before it.
 * P2. It holds nothing for longer than it is needed: of what waits for the disk there is much.
 */
import { linkEntries, type Transition } from "../../kernel/journal/chain.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { toLine } from "../../kernel/journal/journal-lines.ts";
import type { Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { StoredBody, StoredRun, Write } from "../ports/store.ts";

/** Where a journal ends. */
export interface JournalEnd {
  readonly head: Hash;
}

export class PendingEntries implements JournalEnd {
  #before: JournalEnd;
  /** Null once they are linked. */
  #transitions: readonly Transition[] | null;
  #entries: readonly Entry[] = [];
  #kept: readonly string[] | null = null;
  #head: Hash | null = null;

  constructor(before: JournalEnd, transitions: readonly Transition[]) {
    this.#before = before;
    this.#transitions = transitions;
  }

  /** What it stands on. */
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

  /** Its entries as they are kept; handed out once. */
  takeEncoded(): readonly string[] | null {
    this.#link();
    const kept = this.#kept;
    this.#kept = null;
    return kept;
  }

  #link(): void {
    if (this.#transitions === null) return;
    const { entries, kept, head } = linkEntries(this.prev, this.#transitions);
    this.#transitions = null;
    this.#entries = entries;
    this.#kept = kept;
    this.#head = head;
  }
}

type AppendEntries = Extract<Write, { readonly type: "append-entries" }>;

/** A pending as it is committed; its words are asked for when it is sent. */
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
