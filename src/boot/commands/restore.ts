/** `surety restore FILE`: puts a backup in the database's place; what it replaces is kept beside it. */
import { resolve } from "node:path";
import { restoreBackup } from "../../adapters/store-sqlite/backup.ts";
import { EXIT } from "../boot-error.ts";
import type { Action } from "../command.ts";
import { openHome } from "../home.ts";

export const restore: Action = {
  summary: "put a backup in the database's place",
  arguments: ["FILE"],
  options: {},
  examples: ["surety restore surety-2026-02-15.db"],
  async run({ arguments: [file = ""], home, output }) {
    await openHome(home);
    const kept = restoreBackup(resolve(file), home.directory);
    output.result({ restored: file, kept }, () => {
      output.line(`restored ${home.database}`);
      if (kept !== null) output.line(`what was there before is ${kept}`);
    });
    return EXIT.success;
  },
};
