/**
 * The store on SQLite (design: Durability): one home, one writer thread, reads that never wait for it. Point reads use a
 * connection of the main thread; lists and backups run in the reader thread. The opened home is locked, checked and
 * upgraded; the threads may still be starting.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import type { RandomBytes } from "../../runtime/ports/randomness.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { BUSY_TIMEOUT_MS, databaseFile } from "./connection.ts";
import type { HomeLock } from "./home-lock.ts";
import { openDatabase } from "./open-database.ts";
import { ReaderThread } from "./reader-thread.ts";
import { closedError, Reading, storeReads } from "./store-reads.ts";
import { WriterThread } from "./writer-thread.ts";

export interface SqliteStoreOptions {
  /** The directory; created if it does not exist. */
  readonly home: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** The home's lock, if the caller holds it for longer than the store is open; otherwise the store takes it. */
  readonly lock?: HomeLock | undefined;
  /** How long a commit waits while another process writes to the database. */
  readonly busyTimeoutMs?: number;
  /** Simulates a full disk in tests. */
  readonly maxPages?: number;
}

export interface SqliteStore extends Store {
  /** Called once, when nothing can be written any more: stop accepting runs. */
  onUnavailable(listener: (error: Error) => void): void;
}

export function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  return new Promise((resolve) => resolve(open(options)));
}

function open(options: SqliteStoreOptions): SqliteStore {
  const { home, clock, random, lock, busyTimeoutMs = BUSY_TIMEOUT_MS, maxPages } = options;
  const { homeId, restored, reading: connection, release } = openDatabase(home, random, busyTimeoutMs, lock ?? null);
  const file = databaseFile(home);
  const reading = new Reading(connection);
  const reader = new ReaderThread(file);
  const setup = { file, homeId, busyTimeoutMs, maxPages: maxPages ?? null };
  const writer = new WriterThread(setup, clock);
  let closing: Promise<void> | null = null;

  async function close(): Promise<void> {
    reading.close();
    await reader.close();
    try {
      // The last connection to close removes the WAL.
      await writer.close();
    } finally {
      release();
    }
  }

  return {
    ...{ homeId, restored },
    ...storeReads(reading, homeId, (list, ...args) =>
      closing === null ? reader.list(list, ...args) : Promise.reject(closedError()),
    ),
    commit: (writes, urgency) => writer.commit(writes, urgency),
    archive: (endedBefore, limit) => writer.archive({ endedBefore, limit }),
    purge: () => writer.purge(),
    onUnavailable: (listener) => writer.onUnavailable(listener),
    backup: (toFile) => (closing === null ? reader.backup(toFile) : Promise.reject(closedError())),
    close: () => (closing ??= close()),
  };
}
