/**
 * Many commits, one transaction, one sync.
 *
 * G1. A commit that is refused fails alone and leaves no trace. It has a savepoint of its own, unless it is one append:
 *     that is one row, or none.
 * G2. Nothing is reported before the sync that covers it.
 * G3. What throws failed for the medium's sake, and is never tried again.
 * G4. Where another process held the database too long, nothing was begun, so nothing is lost by trying again.
 * G5. What another connection has written since makes void all that is remembered here.
 */
import type { DatabaseSync } from "node:sqlite";
import type { WriteApplier } from "./apply-writes.ts";
import type { Prepare } from "./connection.ts";
import { isAppend } from "./packed-writes.ts";
import { type Failure, failureOf } from "./thread-failure.ts";
import type { BatchReport, Commits } from "./writer-messages.ts";

export class GroupCommit {
  readonly #db: DatabaseSync;
  readonly #prepare: Prepare;
  readonly #applier: WriteApplier;
  #seenVersion: unknown = null;

  constructor(db: DatabaseSync, prepare: Prepare, applier: WriteApplier) {
    this.#db = db;
    this.#prepare = prepare;
    this.#applier = applier;
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
      this.#forgetWhatOthersChanged();
      const report = this.#applyAll(commits);
      this.#prepare("COMMIT").run();
      return report;
    } catch (error) {
      // SQLite may have rolled back by itself already.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  #forgetWhatOthersChanged(): void {
    const version = this.#prepare("PRAGMA data_version").get()?.["data_version"];
    if (version !== this.#seenVersion) this.#applier.forget();
    this.#seenVersion = version;
  }

  #applyAll(commits: Commits): BatchReport {
    const refused: { at: number; failure: Failure }[] = [];
    const spend: { at: number; spend: BatchReport["spend"][number]["spend"] }[] = [];
    for (const [at, writes] of commits.entries()) {
      const isOneRow = writes.length === 1 && writes.every(isAppend);
      if (!isOneRow) this.#prepare("SAVEPOINT one").run();
      try {
        const reserved = this.#applier.apply(writes);
        if (reserved !== null) spend.push({ at, spend: reserved });
      } catch (error) {
        // SQLite gave up the whole transaction, and with it what others have in it: nobody's commit is undone alone.
        if (!this.#db.isTransaction) throw error;
        refused.push({ at, failure: failureOfOne(error) });
        if (!isOneRow) this.#prepare("ROLLBACK TO one").run();
        this.#applier.forget();
      }
      if (!isOneRow) this.#prepare("RELEASE one").run();
    }
    return { commits: commits.length, refused, spend };
  }
}

/** Only what concerns one commit alone can be undone alone. */
function failureOfOne(error: unknown): Failure {
  const failure = failureOf(error);
  if (!["store.fenced", "store.conflict", "defect"].includes(failure.code)) throw error;
  return failure;
}
