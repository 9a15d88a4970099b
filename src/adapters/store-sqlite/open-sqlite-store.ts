/**
 * The store on SQLite (design: Durability): one home, one writer thread, reads that never wait for it.
 *
 * S1. Point reads happen on the main thread, on a connection of their own; lists and backups in the reader thread.
 * S2. What `openSqliteStore` returns is locked, sound and current; the threads may still be starting.
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
  /** The directory; made when it is not there. */
  readonly home: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Of that directory, held by whoever opens it for longer than the store is open; absent: the store takes it. */
  readonly lock?: HomeLock | undefined;
  /** How long a commit waits while another process writes to the database. */
  readonly busyTimeoutMs?: number;
  /** Pretends that the disk ends here; for tests of what happens then. */
  readonly maxPages?: number;
}

export interface SqliteStore extends Store {
  /** Told once, when nothing can be written any more: the moment to stop accepting. */
  onUnavailable(listener: (error: Error) => void): void;
}

export function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  return new Promise((resolve) => resolve(open(options)));
}

function open(options: SqliteStoreOptions): SqliteStore {
  const { home, clock, random, lock, busyTimeoutMs = BUSY_TIMEOUT_MS, maxPages } = options;
  const { homeId, reading: connection, release } = openDatabase(home, random, busyTimeoutMs, lock ?? null);
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
      // The last connection to go tidies up the files.
      await writer.close();
    } finally {
      release();
    }
  }

  return {
    homeId,
    ...storeReads(reading, homeId, (list, ...args) =>
      closing === null ? reader.list(list, ...args) : Promise.reject(closedError()),
    ),
    commit: (writes, urgency) => writer.commit(writes, urgency),
    onUnavailable: (listener) => writer.onUnavailable(listener),
    backup: (toFile) => (closing === null ? reader.backup(toFile) : Promise.reject(closedError())),
    close: () => (closing ??= close()),
  };
}
