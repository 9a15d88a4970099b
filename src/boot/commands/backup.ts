/** `surety backup [FILE]`: a consistent copy of the database, also while a gateway runs. */
import { openSqliteReader } from "../../adapters/store-sqlite/open-sqlite-reader.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import type { Action } from "../command.ts";
import { assertNewFile } from "../durable-file.ts";
import { assertDatabasePresent, findExistingHome } from "../home.ts";
import { systemClock } from "../system-clock.ts";

export const command: Action = {
  summary: "copy the database to a file, also while the gateway runs",
  arguments: ["[FILE]"],
  examples: ["surety backup", "surety backup /mnt/disk/surety.db"],
  async run({ arguments: [file], home, output }) {
    const stamp = timestampOf(systemClock.nowMs()).replaceAll(/[:.]/g, "-");
    const target = await assertNewFile(file ?? `surety-${stamp}.db`, "backup");
    await findExistingHome(home);
    await assertDatabasePresent(home);
    const store = await openSqliteReader(home.directory);
    try {
      await store.backup(target);
    } finally {
      await store.close();
    }
    output.result({ file: target }, () => {
      output.line(`wrote ${target}`);
      output.remark("It does not contain keys/, token, .env and surety.json5: copy those as well.");
    });
  },
};
