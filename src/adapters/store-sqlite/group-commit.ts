/**
 * Many commits, one transaction, one sync.
 *
 * G1. A refused commit fails alone and leaves no trace: each has a savepoint.
 * G2. Nothing is reported before the sync that covers it.
 * G3. An exception means that the medium failed; the commits are never retried.
 * G4. When another process holds the database too long, no transaction has begun, so the commits are refused as busy.
 * G5. When another connection has written, the caches are cleared.
 */
import type { DatabaseSync } from "node:sqlite";
import { WriteApplier } from "./apply-writes.ts";
import { archiveRuns, giveBackSpace } from "./archive-runs.ts";
import { connectWriter, type Prepare, preparing } from "./connection.ts";
import { type Failure, failureOf } from "./sqlite-failure.ts";
import type { BatchReport, Commits, WriterSetup } from "./thread-messages.ts";

export class GroupCommit {
  readonly db: DatabaseSync;
  readonly #prepare: Prepare;
  readonly #applier: WriteApplier;
  #seenVersion: unknown = null;

  constructor({ file, homeId, busyTimeoutMs, maxPages }: WriterSetup) {
    this.db = connectWriter(file, busyTimeoutMs);
    if (maxPages !== null) this.db.exec(`PRAGMA max_page_count = ${maxPages}`);
    this.#prepare = preparing(this.db);
    this.#applier = new WriteApplier(this.#prepare, homeId);
  }

  commit(commits: Commits): BatchReport {
    try {
      this.#prepare("BEGIN IMMEDIATE").run();
    } catch (error) {
      const failure = failureOf(error);
      if (failure.code !== "store.busy") throw error;
      return { commits: commits.length, refused: commits.map((_, at) => ({ at, failure })), spend: [] };
    }
    try {
      this.#clearStaleCaches();
      const report = this.#applyAll(commits);
      this.#prepare("COMMIT").run();
      return report;
    } catch (error) {
      // SQLite may have rolled back already.
      if (this.db.isTransaction) this.db.exec("ROLLBACK");
      throw error;
    }
  }

  /** False: there is nothing more to archive now. */
  archive(endedBefore: string, limit: number): boolean {
    this.db.exec("BEGIN IMMEDIATE");
    let isMore = false;
    try {
      isMore = archiveRuns(this.#prepare, endedBefore, limit);
      this.db.exec("COMMIT");
    } catch (error) {
      if (this.db.isTransaction) this.db.exec("ROLLBACK");
      throw error;
    }
    if (!isMore) giveBackSpace(this.db);
    return isMore;
  }

  #clearStaleCaches(): void {
    const version = this.#prepare("PRAGMA data_version").get()?.["data_version"];
    if (version !== this.#seenVersion) this.#applier.clearCaches();
    this.#seenVersion = version;
  }

  #applyAll(commits: Commits): BatchReport {
    const refused: { at: number; failure: Failure }[] = [];
    const spend: { at: number; spend: BatchReport["spend"][number]["spend"] }[] = [];
    for (const [at, writes] of commits.entries()) {
      this.#prepare("SAVEPOINT one").run();
      try {
        const reserved = this.#applier.apply(writes);
        if (reserved !== null) spend.push({ at, spend: reserved });
      } catch (error) {
        // SQLite has rolled back the whole transaction, other commits included.
        if (!this.db.isTransaction) throw error;
        refused.push({ at, failure: failureOfOne(error) });
        this.#prepare("ROLLBACK TO one").run();
        this.#applier.clearCaches();
      }
      this.#prepare("RELEASE one").run();
    }
    return { commits: commits.length, refused, spend };
  }
}

/** Rethrows what concerns more than one commit: only a refusal or a defect can be undone alone. */
function failureOfOne(error: unknown): Failure {
  const failure = failureOf(error);
  if (!["store.fenced", "store.conflict", "defect"].includes(failure.code)) throw error;
  return failure;
}
