/** A home in a temporary directory, and stores opened on it. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  openSqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";

export interface TemporaryHome {
  readonly home: string;
  open(options?: Partial<SqliteStoreOptions>): Promise<SqliteStore>;
  /** Closes what was opened, and removes everything. */
  dispose(): Promise<void>;
}

export function temporaryHome(): TemporaryHome {
  const directory = mkdtempSync(join(tmpdir(), "surety-store-"));
  const home = join(directory, "home");
  const opened: SqliteStore[] = [];
  return {
    home,
    async open(options = {}) {
      const store = await openSqliteStore({ home, clock: systemClock, random: randomBytes, ...options });
      opened.push(store);
      return store;
    },
    async dispose() {
      await Promise.allSettled(opened.map((store) => store.close()));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
