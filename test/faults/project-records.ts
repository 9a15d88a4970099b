/** Projects the records of a home into another directory, again and again, until it is killed: HOME TARGET. */
import { RunRecords } from "../../src/adapters/records/run-records.ts";
import { openSqliteReader } from "../../src/adapters/store-sqlite/open-sqlite-reader.ts";

const [home = "", homeDirectory = ""] = process.argv.slice(2);
const store = await openSqliteReader(home);
const records = new RunRecords({ store, homeDirectory, onUnreadable: () => {} });
process.stdout.write("projecting\n");
for (;;) {
  while (await records.project(5));
  await new Promise((resolve) => setTimeout(resolve, 1));
}
