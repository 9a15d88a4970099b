/** The store that the parts of the contract share, and what they ask of it. */
import { expect } from "vitest";
import type { LedgerEntry } from "../../../src/kernel/journal/ledger.ts";
import {
  type CommitResult,
  type Store,
  StoreError,
  type StoreErrorCode,
  type Write,
} from "../../../src/runtime/ports/store.ts";
import { runOfItsOwn, SampleJournal } from "../store-samples.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Closes it and opens it again. */
  reopen(): Promise<Store>;
  dispose(): Promise<void>;
}

/** The store under test, shared by all parts of the contract. */
export class StoreFixture {
  readonly #open: () => Promise<OpenedStore>;
  #opened: OpenedStore | null = null;
  #store: Store | null = null;

  constructor(open: () => Promise<OpenedStore>) {
    this.#open = open;
  }

  async start(): Promise<void> {
    this.#opened = await this.#open();
    this.#store = this.#opened.store;
  }

  async stop(): Promise<void> {
    await this.#opened?.dispose();
  }

  get store(): Store {
    if (this.#store === null) throw new Error("not started");
    return this.#store;
  }

  async reopen(): Promise<void> {
    this.#store = (await this.#opened?.reopen()) ?? null;
  }

  readonly barrier = (...writes: readonly Write[]): Promise<CommitResult> => this.store.commit(writes, "barrier");

  readonly insertRun = async (also: Parameters<typeof runOfItsOwn>[0] = {}) => {
    const { writes, ...ids } = runOfItsOwn(also);
    await this.barrier(...writes);
    return { ...ids, journal: new SampleJournal(ids.runId) };
  };
}

export async function wholeLedger(store: Store): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (;;) {
    const page = await store.readLedger(entries.length, 500);
    if (page.length === 0) return entries;
    entries.push(...page);
  }
}

export async function expectRefused(commit: Promise<unknown> | undefined, code: StoreErrorCode): Promise<void> {
  const error = await commit?.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code });
}
