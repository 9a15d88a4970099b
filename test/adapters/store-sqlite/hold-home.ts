/** Opens a home's store, prints the result, and stays. */
import { randomBytes } from "node:crypto";
import { openSqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { StoreError } from "../../../src/runtime/ports/store.ts";

const [home = ""] = process.argv.slice(2);
try {
  await openSqliteStore({ home, clock: systemClock, random: randomBytes });
  process.stdout.write("open\n");
} catch (error) {
  process.stdout.write(`${error instanceof StoreError ? error.code : String(error)}\n`);
}
