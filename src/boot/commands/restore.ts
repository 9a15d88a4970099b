/**
 * `surety restore FILE`: replaces the database with a backup; keeps the replaced one beside it.
 *
 * R1. A file that is not a backup changes nothing, and creates no home.
 * R2. Runs that are open in the backup may have gone on after it was taken: each waits for a person (`resolve` card).
 * R3. A backup of another home is restored too, with a warning: this is how a lost home comes back.
 */
import { rename, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { restoreBackup } from "../../adapters/store-sqlite/backup.ts";
import { findHomeId } from "../../adapters/store-sqlite/open-database.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { newId } from "../../runtime/ports/randomness.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { BootError, systemCodeOf } from "../boot-error.ts";
import type { Action } from "../command.ts";
import { type Home, openHome } from "../home.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";

export const command: Action = {
  summary: "replace the database with a backup",
  arguments: ["FILE"],
  examples: ["surety restore surety-2026-02-15.db"],
  async run({ arguments: [file = ""], home, output }) {
    const source = resolve(file);
    await assertFile(source);
    const before = findHomeId(home.directory);
    const kept = restoreFrom(source, home);
    // They tell of the replaced database, and go with it.
    if (kept !== null) await setAside(home.checkpointFile, `${kept}-checkpoints.jsonl`);
    // The next start writes the records of the restored database.
    if (kept !== null) await setAside(home.agentsDirectory, `${kept}-agents`);
    await openHome(home);
    const after = findHomeId(home.directory);
    output.result({ restored: file, kept, home_id: after, replaced_home_id: before }, () => {
      output.line(`restored ${home.database}`);
      if (kept !== null) output.line(`the replaced database is ${kept}`);
      output.line("After the next start, runs that were open in the backup wait for you: surety approvals ls");
    });
    if (before !== null && before !== after) {
      output.remark(
        `warning restore.other-home: this home was ${before} and is now ${after}; copy that home's keys/ as well, or its signatures do not verify`,
      );
    }
  },
};

function restoreFrom(source: string, { directory }: Home): string | null {
  try {
    const ts = timestampOf(systemClock.nowMs());
    return restoreBackup(source, directory, { id: newId("restore", systemRandomness), ts });
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.corrupt")) throw error;
    throw unusable(`${source} is not a backup, or is damaged; nothing was changed`, error);
  }
}

async function setAside(file: string, aside: string): Promise<void> {
  try {
    await rename(file, aside);
  } catch (error) {
    if (systemCodeOf(error) !== "ENOENT") throw error;
  }
}

async function assertFile(source: string): Promise<void> {
  try {
    if ((await stat(source)).isFile()) return;
  } catch (error) {
    throw unusable(`${source} cannot be read (${systemCodeOf(error) ?? "unknown"})`, error);
  }
  throw unusable(`${source} is not a file`);
}

function unusable(message: string, cause?: unknown): BootError {
  return new BootError("backup.unusable", message, "Name a file that surety backup wrote.", { cause });
}
