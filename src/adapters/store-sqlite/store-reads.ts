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
import { mediaOf, pendingErasures } from "./erasures.ts";
import { findGhost, latestGhostOf } from "./ghosts.ts";
import { governanceTiers, measuredThrough } from "./governance.ts";
import { countOpenRuns, usedBytes } from "./home-state.ts";
import { findImport, importedTurns } from "./imports.ts";
import { findJob, nextDueMs, schedulePausedAtMs } from "./jobs.ts";
import { headOf, readBodies, readEntries } from "./journal.ts";
import { lastLedgerSeq, ledgerHead } from "./ledger.ts";
import { type ListArguments, type ListName, type ListResult, readList } from "./list-reads.ts";
import { findMedia, waitingMedia } from "./media.ts";
import { findMemory, findMemoryLike, hasMemories } from "./memories.ts";
import { findDelivery, findInbound } from "./outbox.ts";
import { findPairing, findPairingByCode } from "./pairings.ts";
import { findRun, findRunByKey, findRunByMessage, findRunIds, firstRunOf, sessionPosition } from "./runs.ts";
import { storedSecrets } from "./secrets.ts";
import { findCheckpoint, findSession, findSessionByKey } from "./sessions.ts";
import { heldFor } from "./spend.ts";
import { toStoreError } from "./sqlite-failure.ts";

export type StoreReads = Omit<Store, "homeId" | "restored" | "commit" | "archive" | "purge" | "backup" | "close">;
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

export function storeReads(reading: Reading, homeId: string, readElsewhere: ReadingList): StoreReads {
  const list: ReadingList = (name, ...args) => {
    checkCounts(args);
    return readElsewhere(name, ...args);
  };
  const listHere: ReadingList = (name, ...args) => {
    checkCounts(args);
    return reading.read((prepare) => readList(prepare, name, args));
  };
  const listLedger = async (after: number): Promise<ReadingList> =>
    (await reading.read(lastLedgerSeq)) - after <= MAX_LEFT_HERE ? listHere : list;
  return {
    findRun: (runId) => reading.read((prepare) => findRun(prepare, runId)),
    findRunIds: async (beginning, limit) => {
      checkCounts([limit]);
      return await reading.read((prepare) => findRunIds(prepare, beginning, limit));
    },
    firstRunOf: (sessionId) => reading.read((prepare) => firstRunOf(prepare, sessionId)),
    findRunByKey: (key) => reading.read((prepare) => findRunByKey(prepare, key)),
    findRunByMessage: (channel, id) => reading.read((prepare) => findRunByMessage(prepare, channel, id)),
    hasSession: (sessionId) => reading.read((prepare) => sessionPosition(prepare, sessionId) !== null),
    findSession: (sessionId) => reading.read((prepare) => findSession(prepare, sessionId)),
    findSessionByKey: (key) => reading.read((prepare) => findSessionByKey(prepare, key)),
    findImport: (source) => reading.read((prepare) => findImport(prepare, source)),
    importedTurns: async (sessionId, between, limit) => {
      checkCounts([limit]);
      return await reading.read((prepare) => importedTurns(prepare, sessionId, between, limit));
    },
    findCheckpoint: (sessionId) => reading.read((prepare) => findCheckpoint(prepare, sessionId)),
    readEntries: async (runId, after, limit) => {
      checkCounts([after, limit]);
      return await reading.read((prepare) => readEntries(prepare, runId, after, limit));
    },
    headOf: (runId) => reading.read((prepare) => headOf(prepare, runId)),
    readBodies: (...wanted) => reading.read((prepare) => readBodies(prepare, ...wanted)),
    approvalsOf: (runId) => reading.read((prepare) => approvalsOf(prepare, runId)),
    findApproval: (id) => reading.read((prepare) => findApproval(prepare, id)),
    capabilitiesOf: (sessionId) => reading.read((prepare) => capabilitiesOf(prepare, sessionId)),
    findInbound: (channel, id) => reading.read((prepare) => findInbound(prepare, channel, id)),
    findDelivery: (id) => reading.read((prepare) => findDelivery(prepare, id)),
    findPairing: (channel, senderId) => reading.read((prepare) => findPairing(prepare, channel, senderId)),
    findPairingByCode: (code) => reading.read((prepare) => findPairingByCode(prepare, code)),
    heldFor: (runId) => reading.read((prepare) => heldFor(prepare, runId)),
    storedSecrets: () => reading.read(storedSecrets),
    governanceTiers: () => reading.read(governanceTiers),
    measuredThrough: () => reading.read(measuredThrough),
    findMedia: (ref) => reading.read((prepare) => findMedia(prepare, ref)),
    findJob: (id) => reading.read((prepare) => findJob(prepare, id)),
    nextDueMs: () => reading.read(nextDueMs),
    schedulePausedAtMs: () => reading.read(schedulePausedAtMs),
    waitingMedia: (owner) => reading.read((prepare) => waitingMedia(prepare, owner)),
    findGhost: (id) => reading.read((prepare) => findGhost(prepare, id)),
    latestGhostOf: (subject) => reading.read((prepare) => latestGhostOf(prepare, subject)),
    usedBytes: () => reading.read(usedBytes),
    pendingErasures: () => reading.read(pendingErasures),
    mediaOf: (sessionId) => reading.read((prepare) => mediaOf(prepare, sessionId)),
    hasMemories: () => reading.read(hasMemories),
    findMemory: (id) => reading.read((prepare) => findMemory(prepare, id)),
    findMemoryLike: (contentHash) => reading.read((prepare) => findMemoryLike(prepare, contentHash)),
    ledgerHead: () => reading.read((prepare) => ledgerHead(prepare, homeId)),

    // A few rows by an index: less than the way to the reader thread.
    sessionRuns: (sessionId, between, limit) => listHere("sessionRuns", sessionId, between, limit),
    // Short, and read whenever a message is to be sent.
    openOutbox: (channel, page) => listHere("openOutbox", channel, page),
    // Read at the start, when a page costs less than starting the reader thread; these lists are short.
    openRuns: (after, limit) => listHere("openRuns", after, limit),
    pendingApprovals: (page) => listHere("pendingApprovals", page),
    // A page at a time, by an index of exactly these rows.
    dueJobs: (byMs, limit) => listHere("dueJobs", byMs, limit),
    listTokens: (page) => listHere("listTokens", page),
    listBrowsers: (page) => listHere("listBrowsers", page),

    ghostTimes: (sinceMs, limit) => listHere("ghostTimes", sinceMs, limit),
    listGhosts: (filter, page) => listHere("listGhosts", filter, page),

    // A window of runs, by an index.
    measuredRuns: (tier, page) => listHere("measuredRuns", tier, page),

    policyChanges: (page) => list("policyChanges", page),
    runsAfter: (position, limit) => list("runsAfter", position, limit),
    listRuns: (filter) => list("listRuns", filter),
    openRunsOf: (sessionId, limit) => list("openRunsOf", sessionId, limit),
    listSessions: (filter, page) => list("listSessions", filter, page),
    pendingCapabilities: (page) => list("pendingCapabilities", page),
    grantedCapabilities: (page) => list("grantedCapabilities", page),
    decidedApprovals: (page) => list("decidedApprovals", page),
    allApprovals: (page) => list("allApprovals", page),
    allCapabilities: (page) => list("allCapabilities", page),
    listOutbox: (filter, page) => list("listOutbox", filter, page),
    listPairings: (page) => list("listPairings", page),
    listJobs: (page) => list("listJobs", page),
    misplannedJobs: (nowMs, limit) => list("misplannedJobs", nowMs, limit),
    listSlots: (jobId, page) => list("listSlots", jobId, page),
    recordedRows: (table, page) => list("recordedRows", table, page),
    spendTotals: (period) => list("spendTotals", period),
    listMemories: (filter, page) => list("listMemories", filter, page),
    searchMemories: (terms, filter, limit) => list("searchMemories", terms, filter, limit),
    nearestMemories: (model, vector, filter, limit) => list("nearestMemories", model, vector, filter, limit),
    unembeddedMemories: (model, limit) => list("unembeddedMemories", model, limit),
    memoryUses: (id, page) => list("memoryUses", id, page),
    // The last entries, which every start looks at, are read sooner than the reader thread starts.
    readLedger: async (after, limit) => await (await listLedger(after))("readLedger", after, limit),
    readLedgerLines: async (after, limit) => await (await listLedger(after))("readLedgerLines", after, limit),
    // A few open runs are read sooner than the reader thread starts.
    homeState: async () => {
      const isShort = (await reading.read(countOpenRuns)) <= MAX_OPEN_HERE;
      return isShort ? await listHere("homeState", homeId) : await list("homeState", homeId);
    },
  };
}

const MAX_OPEN_HERE = 100;
const MAX_LEFT_HERE = 100;

export function closedError(): StoreError {
  return new StoreError("store.closed", "The store is closed.");
}

/** Every number among the arguments of a list is a position or a size. */
function checkCounts(args: readonly unknown[]): void {
  for (const value of args.flatMap((arg) => (typeof arg === "object" && arg !== null ? Object.values(arg) : [arg]))) {
    if (typeof value !== "number" || (Number.isSafeInteger(value) && value >= 0)) continue;
    throw new Defect(`not a page size or position: ${value}`);
  }
}
