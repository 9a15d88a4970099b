/** Senders of channels: table, rows, reads and writes. When one may ask: src/assistant/delivery/pairing-rules.ts. */
import { checkRequestPairing } from "../../assistant/delivery/pairing-rules.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import type { Page } from "../../runtime/ports/store.ts";
import type { StoredPairing } from "../../runtime/ports/stored-delivery.ts";
import type { Prepare, Tables } from "./connection.ts";
import { isAsRecorded, record } from "./recorded-rows.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const PAIRING_TABLES: Tables = {
  7: `
  CREATE TABLE pairings (
    channel TEXT NOT NULL, sender_id TEXT NOT NULL, sender_name TEXT, state TEXT NOT NULL, code TEXT UNIQUE,
    requested_at_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL, decided_by TEXT, decided_at TEXT,
    PRIMARY KEY (channel, sender_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX pending_pairings ON pairings (channel, expires_at_ms) WHERE state = 'pending';`,
};

const SELECT = `
  SELECT channel, sender_id AS senderId, sender_name AS senderName, state, code, requested_at_ms AS requestedAtMs,
    expires_at_ms AS expiresAtMs, decided_by AS decidedBy, decided_at AS decidedAt FROM pairings`;
const FORGET_EXPIRED = `
  DELETE FROM pairings WHERE state = 'pending' AND channel = ? AND expires_at_ms <= ? RETURNING sender_id`;
const COUNT_OTHERS =
  "SELECT count(*) AS others FROM pairings WHERE state = 'pending' AND channel = ? AND sender_id <> ?";
const REQUEST = `
  INSERT INTO pairings (channel, sender_id, sender_name, state, code, requested_at_ms, expires_at_ms)
  VALUES (?, ?, ?, 'pending', ?, ?, ?)`;
/** A code is worth nothing once it is answered. */
const DECIDE = `
  INSERT INTO pairings (channel, sender_id, state, requested_at_ms, expires_at_ms, decided_by, decided_at)
  VALUES (?, ?, ?, ?, 0, ?, ?)
  ON CONFLICT DO UPDATE SET state = excluded.state, code = NULL, decided_by = excluded.decided_by,
    decided_at = excluded.decided_at`;

export const PAIRING_QUERIES = {
  listPairings: `${SELECT} ORDER BY channel, sender_id LIMIT ? OFFSET ?`,
};

export const PAIRING_LISTS = {
  listPairings(prepare: Prepare, { limit, offset }: Page): readonly StoredPairing[] {
    return prepare(PAIRING_QUERIES.listPairings)
      .all(limit, offset)
      .map((row) => toPairing(prepare, row));
  },
};

export const PAIRING_WRITES: WriteHandlers<"request-pairing" | "decide-pairing"> = {
  "request-pairing"(transaction, { request }) {
    const { prepare } = transaction;
    const { channel, senderId, senderName, code, requestedAtMs, expiresAtMs } = request;
    const at = timestampOf(requestedAtMs);
    for (const { sender_id: expired } of prepare(FORGET_EXPIRED).all(channel, requestedAtMs)) {
      record(transaction, at, "pairings", channel, String(expired));
    }
    const others = Number(prepare(COUNT_OTHERS).get(channel, senderId)?.["others"]);
    if (!mayWrite(checkRequestPairing(findPairing(prepare, channel, senderId), others, requestedAtMs))) return;
    prepare(REQUEST).run(channel, senderId, senderName, code, requestedAtMs, expiresAtMs);
    record(transaction, at, "pairings", channel, senderId);
  },

  "decide-pairing"(transaction, { draft }) {
    const { prepare, appendLedger } = transaction;
    const { channel, sender } = draft.data;
    const state = draft.kind === "pair.accepted" ? "accepted" : "denied";
    appendLedger(draft);
    prepare(DECIDE).run(channel, sender, state, Date.parse(draft.ts), draft.actor, draft.ts);
    record(transaction, draft.ts, "pairings", channel, sender);
  },
};

export function findPairing(prepare: Prepare, channel: string, senderId: string): StoredPairing | null {
  const row = prepare(`${SELECT} WHERE channel = ? AND sender_id = ?`).get(channel, senderId);
  return row === undefined ? null : toPairing(prepare, row);
}

export function findPairingByCode(prepare: Prepare, code: string): StoredPairing | null {
  const row = prepare(`${SELECT} WHERE code = ?`).get(code);
  return row === undefined ? null : toPairing(prepare, row);
}

function toPairing(prepare: Prepare, row: object): StoredPairing {
  const pairing = { ...row } as StoredPairing;
  const { channel, senderId } = pairing;
  return isAsRecorded(prepare, "pairings", channel, senderId) ? pairing : { ...pairing, state: "forged" };
}
