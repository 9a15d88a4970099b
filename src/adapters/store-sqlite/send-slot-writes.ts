/**
 * Places among the sends that need no approval (P-3.3).
 *
 * L1. Counted where commits are put in order: however many runs ask at once, no more than `limit` have one.
 * L2. One that was taken before the hour in question is another one now, and counts again. None is given back.
 * L3. What no longer counts goes when the next one is taken, a day later: the table does not grow, and a clock that is set
 *     forward and back again does not give an hour's places away twice.
 */
import { StoreError } from "../../runtime/ports/store.ts";
import type { Prepare } from "./connection.ts";
import { toBytes } from "./hex-bytes.ts";
import type { WriteOf } from "./write-of.ts";

const DAY_MS = 24 * 3_600_000;
const TAKEN_AT = "SELECT at_ms FROM send_slots WHERE id = ?";
const COUNT = "SELECT count(*) AS taken FROM send_slots WHERE at_ms > ?";
const FORGET = "DELETE FROM send_slots WHERE at_ms <= ?";
const TAKE = "INSERT INTO send_slots (id, at_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms";

export function takeSendSlot(prepare: Prepare, { id, atMs, sinceMs, limit }: WriteOf<"take-send-slot">): void {
  const takenAt = prepare(TAKEN_AT).get(toBytes(id))?.["at_ms"];
  if (takenAt !== undefined && Number(takenAt) > sinceMs) return;
  const taken = Number(prepare(COUNT).get(sinceMs)?.["taken"]);
  if (!(taken < limit)) throw new StoreError("store.conflict", "As many messages as may go unasked have gone.");
  prepare(FORGET).run(sinceMs - DAY_MS);
  prepare(TAKE).run(toBytes(id), atMs);
}
