/**
 * A home opened for reading, with or without a running gateway. It takes no lock and starts no thread; each read is a
 * short transaction. Commits are refused.
 */
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import { backUp } from "./backup.ts";
import { databaseFile } from "./connection.ts";
import { readList } from "./list-reads.ts";
import { openForReading } from "./open-database.ts";
import { Reading, storeReads } from "./store-reads.ts";

export function openSqliteReader(home: string): Promise<Store> {
  return new Promise((resolve) => resolve(open(home)));
}

const refuse = (): Promise<never> =>
  Promise.reject(new StoreError("store.read-only", "This home was opened for reading, so nothing can be saved."));

function open(home: string): Store {
  const { homeId, restored, reading: connection } = openForReading(home);
  const reading = new Reading(connection);
  return {
    ...{ homeId, restored },
    ...storeReads(reading, homeId, (list, ...args) => reading.read((prepare) => readList(prepare, list, args))),
    commit: refuse,
    archive: refuse,
    purge: refuse,
    backup: (toFile) => backUp(databaseFile(home), toFile),
    close: () => new Promise((resolve) => resolve(reading.close())),
  };
}
