/** Keeps a home's database locked for writing until it is asked to release it, as a stray tool might. */
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";

const [home = ""] = process.argv.slice(2);
const db = new DatabaseSync(databaseFile(home), { timeout: 10_000 });
db.exec("BEGIN IMMEDIATE");
process.stdout.write("held\n");
await once(process.stdin, "data");
db.exec("ROLLBACK");
db.close();
process.stdin.destroy();
