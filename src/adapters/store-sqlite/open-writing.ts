/** A connection that writes, with all that a commit needs. */
import type { DatabaseSync } from "node:sqlite";
import { WriteApplier } from "./apply-writes.ts";
import { connectWriter, preparing } from "./connection.ts";
import { GroupCommit } from "./group-commit.ts";
import type { WriterSetup } from "./writer-messages.ts";

export interface Writing {
  readonly db: DatabaseSync;
  readonly group: GroupCommit;
}

export function openWriting({ file, homeId, busyTimeoutMs, maxPages }: WriterSetup): Writing {
  const db = connectWriter(file, busyTimeoutMs);
  if (maxPages !== null) db.exec(`PRAGMA max_page_count = ${maxPages}`);
  const prepare = preparing(db);
  return { db, group: new GroupCommit(db, prepare, new WriteApplier(prepare, homeId)) };
}
