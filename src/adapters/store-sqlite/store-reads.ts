/**
 * The reading half of the port. Point reads use the given connection and are short enough for the main thread; lists go
 * through `list`.
 *
 * R1. Every failure is a StoreError that says what to do; after `close` each read is refused.
 * R2. A negative or fractional page size is a defect of the caller: SQLite reads a LIMIT of -1 as all rows.
 */
import type { DatabaseSync } from "node:sqlite";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import { approvalsOf, findApproval } from "./approvals.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { type Prepare, preparing } from "./connection.ts";
import { headOf, readBodies, readEntries } from "./journal.ts";
import { ledgerHead } from "./ledger.ts";
import { type ListArguments, type ListName, type ListResult, readList } from "./list-reads.ts";
import { findRun, findRunByKey, findRunByMessage, sessionPosition } from "./runs.ts";
import { toStoreError } from "./sqlite-failure.ts";

export type StoreReads = Omit<Store, "homeId" | "commit" | "backup" | "close">;
export type ReadingList = <K extends ListName>(list: K, ...args: ListArguments<K>) => Promise<ListResult<K>>;

export class Reading {
  readonly #db: DatabaseSync;
  readonly #prepare: Prepare;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#prepare = preparing(db);
  }

  async read<T>(query: (prepare: Prepare) => T): Promise<T> {
    // Asynchronous because the port is: other stores cannot answer at once.
    await null;
    if (!this.#db.isOpen) throw closedError();
    try {
      return query(this.#prepare);
    } catch (error) {
      throw toStoreError(error);
    }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

export function storeReads(reading: Reading, homeId: string, list: ReadingList): StoreReads {
  return {
    findRun: (runId) => reading.read((prepare) => findRun(prepare, runId)),
    findRunByKey: (key) => reading.read((prepare) => findRunByKey(prepare, key)),
    findRunByMessage: (channel, id) => reading.read((prepare) => findRunByMessage(prepare, channel, id)),
    hasSession: (sessionId) => reading.read((prepare) => sessionPosition(prepare, sessionId) !== null),
    readEntries: (runId, after, limit) =>
      reading.read((prepare) => readEntries(prepare, runId, checkCount(after), checkCount(limit))),
    headOf: (runId) => reading.read((prepare) => headOf(prepare, runId)),
    readBodies: (sessionId, refs, runId) => reading.read((prepare) => readBodies(prepare, sessionId, refs, runId)),
    approvalsOf: (runId) => reading.read((prepare) => approvalsOf(prepare, runId)),
    findApproval: (id) => reading.read((prepare) => findApproval(prepare, id)),
    capabilitiesOf: (sessionId) => reading.read((prepare) => capabilitiesOf(prepare, sessionId)),
    ledgerHead: () => reading.read((prepare) => ledgerHead(prepare, homeId)),

    // Read at the start, when a page costs less than starting the reader thread.
    openRuns: (after, limit) =>
      reading.read((prepare) => readList(prepare, "openRuns", [checkCount(after), checkCount(limit)])),
    // Also read at the start; pending approvals are few.
    pendingApprovals: ({ limit, offset }) =>
      reading.read((prepare) =>
        readList(prepare, "pendingApprovals", [{ limit: checkCount(limit), offset: checkCount(offset) }]),
      ),
    listRuns: ({ status, limit, offset }) =>
      list("listRuns", {
        ...(status === undefined ? {} : { status }),
        limit: checkCount(limit),
        offset: checkCount(offset),
      }),
    sessionRuns: (sessionId, limit) => list("sessionRuns", sessionId, checkCount(limit)),
    pendingCapabilities: ({ limit, offset }) =>
      list("pendingCapabilities", { limit: checkCount(limit), offset: checkCount(offset) }),
    allCapabilities: ({ limit, offset }) =>
      list("allCapabilities", { limit: checkCount(limit), offset: checkCount(offset) }),
    waitingOutbox: ({ limit, offset }) =>
      list("waitingOutbox", { limit: checkCount(limit), offset: checkCount(offset) }),
    spendTotals: (period) => list("spendTotals", period),
    readLedger: (after, limit) => list("readLedger", checkCount(after), checkCount(limit)),
  };
}

export function closedError(): StoreError {
  return new StoreError("store.closed", "The store is closed.");
}

function checkCount(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new Defect(`not a page size or position: ${value}`);
  return value;
}
