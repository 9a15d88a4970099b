/**
 * The reading half of the port: point reads on the connection at hand, lists wherever `list` has them read.
 *
 * R1. Every failure is a StoreError that says what to do; after `close` each read is refused.
 * R2. A page that is no page (SQLite takes -1 rows for all of them) is a defect of who asks.
 */
import type { DatabaseSync } from "node:sqlite";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import { capabilitiesOf } from "./capability-rows.ts";
import { type Prepare, preparing } from "./connection.ts";
import { type ListArguments, type ListName, type ListResult, readList } from "./list-reads.ts";
import {
  approvalsOf,
  findApproval,
  findRun,
  findRunByKey,
  findRunByMessage,
  hasSession,
  headOf,
  ledgerHead,
  readBodies,
  readEntries,
} from "./point-reads.ts";
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
    // What was committed before is seen; a promise all the same, since other stores cannot answer at once.
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
    hasSession: (sessionId) => reading.read((prepare) => hasSession(prepare, sessionId)),
    readEntries: (runId, after, limit) =>
      reading.read((prepare) => readEntries(prepare, runId, counted(after), counted(limit))),
    headOf: (runId) => reading.read((prepare) => headOf(prepare, runId)),
    readBodies: (sessionId, refs, runId) => reading.read((prepare) => readBodies(prepare, sessionId, refs, runId)),
    approvalsOf: (runId) => reading.read((prepare) => approvalsOf(prepare, runId)),
    findApproval: (id) => reading.read((prepare) => findApproval(prepare, id)),
    capabilitiesOf: (sessionId) => reading.read((prepare) => capabilitiesOf(prepare, sessionId)),
    ledgerHead: () => reading.read((prepare) => ledgerHead(prepare, homeId)),

    // Asked for at the start, when nobody waits for the main thread yet: a page costs less than starting the reader.
    openRuns: (after, limit) =>
      reading.read((prepare) => readList(prepare, "openRuns", [counted(after), counted(limit)])),
    // Asked for at the start too. They are few, whatever the home holds: somebody is waited for.
    pendingApprovals: ({ limit, offset }) =>
      reading.read((prepare) =>
        readList(prepare, "pendingApprovals", [{ limit: counted(limit), offset: counted(offset) }]),
      ),
    listRuns: ({ status, limit, offset }) =>
      list("listRuns", { ...(status === undefined ? {} : { status }), limit: counted(limit), offset: counted(offset) }),
    sessionRuns: (sessionId, limit) => list("sessionRuns", sessionId, counted(limit)),
    pendingCapabilities: ({ limit, offset }) =>
      list("pendingCapabilities", { limit: counted(limit), offset: counted(offset) }),
    allCapabilities: ({ limit, offset }) => list("allCapabilities", { limit: counted(limit), offset: counted(offset) }),
    waitingOutbox: ({ limit, offset }) => list("waitingOutbox", { limit: counted(limit), offset: counted(offset) }),
    spendTotals: (period) => list("spendTotals", period),
    readLedger: (after, limit) => list("readLedger", counted(after), counted(limit)),
  };
}

export function closedError(): StoreError {
  return new StoreError("store.closed", "The store is closed.");
}

function counted(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new Defect(`a page of ${value}`);
  return value;
}
