/**
 * `surety restore FILE`: puts a backup in the database's place; what it replaces is kept beside it.
 *
 * R1. A file that is no backup changes nothing, and makes no home.
 * R2. A backup of another home is restored as well, since a lost home comes back in no other way; but that is said.
 */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { restoreBackup } from "../../adapters/store-sqlite/backup.ts";
import { findHomeId } from "../../adapters/store-sqlite/open-database.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { BootError, EXIT, systemCodeOf } from "../boot-error.ts";
import type { Action } from "../command.ts";
import { type Home, openHome } from "../home.ts";

export const restore: Action = {
  summary: "put a backup in the database's place",
  arguments: ["FILE"],
  options: {},
  examples: ["surety restore surety-2026-02-15.db"],
  async run({ arguments: [file = ""], home, output }) {
    const source = resolve(file);
    await assertFile(source);
    const before = findHomeId(home.directory);
    const kept = restoreFrom(source, home);
    await openHome(home);
    const after = findHomeId(home.directory);
    output.result({ restored: file, kept, home_id: after, replaced_home_id: before }, () => {
      output.line(`restored ${home.database}`);
      if (kept !== null) output.line(`what was there before is ${kept}`);
    });
    if (before !== null && before !== after) {
      output.remark(
        `warning restore.other-home: this was ${before} and is ${after} now; bring that home's keys/ as well, or its signatures do not verify`,
      );
    }
    return EXIT.success;
  },
};

function restoreFrom(source: string, { directory }: Home): string | null {
  try {
    return restoreBackup(source, directory);
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.corrupt")) throw error;
    throw unusable(`${source} is no backup, or is damaged; nothing was changed`, error);
  }
}

async function assertFile(source: string): Promise<void> {
  try {
    if ((await stat(source)).isFile()) return;
  } catch (error) {
    throw unusable(`${source} cannot be read (${systemCodeOf(error) ?? "unknown"})`, error);
  }
  throw unusable(`${source} is no file`);
}

function unusable(message: string, cause?: unknown): BootError {
  return new BootError("backup.unusable", message, "Name a file that surety backup wrote.", { cause });
}
