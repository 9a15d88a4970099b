/**
 * Slots for sends that need no approval: table and write. Counted in the writer, where commits are put in order, so that
 * runs asking at once cannot share a slot. When one is free: src/runtime/tools/send-slot-rules.ts.
 */
import { checkTakeSendSlot, SEND_SLOT_RETENTION_MS } from "../../runtime/tools/send-slot-rules.ts";
import { type Tables, toBytes } from "./connection.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const SEND_SLOT_TABLES: Tables = {
  1: `
  CREATE TABLE send_slots (id BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX send_slots_by_time ON send_slots (at_ms);`,
};

const TAKE = "INSERT INTO send_slots (id, at_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms";

export const SEND_SLOT_WRITES: WriteHandlers<"take-send-slot"> = {
  "take-send-slot"({ prepare }, { id, atMs, sinceMs, limit }) {
    const takenAtMs = prepare("SELECT at_ms FROM send_slots WHERE id = ?").get(toBytes(id))?.["at_ms"];
    const taken = Number(prepare("SELECT count(*) AS taken FROM send_slots WHERE at_ms > ?").get(sinceMs)?.["taken"]);
    const known = takenAtMs === undefined ? null : Number(takenAtMs);
    if (!mayWrite(checkTakeSendSlot(known, taken, { sinceMs, limit }))) return;
    prepare("DELETE FROM send_slots WHERE at_ms <= ?").run(sinceMs - SEND_SLOT_RETENTION_MS);
    prepare(TAKE).run(toBytes(id), atMs);
  },
};
