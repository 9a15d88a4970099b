/** `surety backup [FILE]`: a consistent copy of the home's database, while work goes on. */

import { access, constants } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { openSqliteReader } from "../../adapters/store-sqlite/open-sqlite-reader.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { BootError, EXIT, systemCodeOf } from "../boot-error.ts";
import type { Action } from "../command.ts";
import { findExistingHome } from "../home.ts";
import { assertDatabaseKept } from "../lost-database.ts";
import { systemClock } from "../system-clock.ts";

export const backup: Action = {
  summary: "copy the database to a file, while work goes on",
  arguments: ["[FILE]"],
  options: {},
  examples: ["surety backup", "surety backup /mnt/disk/surety.db"],
  async run({ arguments: [file], home, output }) {
    const stamp = timestampOf(systemClock.nowMs()).replaceAll(/[:.]/g, "-");
    const target = resolve(file ?? `surety-${stamp}.db`);
    await assertRoom(dirname(target));
    await assertFree(target);
    await findExistingHome(home);
    await assertDatabaseKept(home);
    const store = await openSqliteReader(home.directory);
    try {
      await store.backup(target);
    } finally {
      await store.close();
    }
    output.result({ file: target }, () => {
      output.line(`wrote ${target}`);
      output.remark("Keep keys/, token, .env and surety.json5 of the home as well; they are not in it.");
    });
    return EXIT.success;
  },
};

async function assertRoom(directory: string): Promise<void> {
  try {
    await access(directory, constants.W_OK);
  } catch (error) {
    throw unwritable(directory, error);
  }
}

function unwritable(directory: string, cause: unknown): BootError {
  return new BootError(
    "backup.unwritable",
    `nothing can be written in ${directory} (${systemCodeOf(cause) ?? "unknown"})`,
    "Make that directory, or name a file in one that you may write to.",
    { cause },
  );
}

async function assertFree(target: string): Promise<void> {
  const isTaken = await access(target).then(
    () => true,
    () => false,
  );
  if (isTaken)
    throw new BootError("backup.exists", `${target} is there already`, `Name another file in ${dirname(target)}.`);
}
