/** The outbox: table, list and writes. */
import { type Page, StoreError } from "../../runtime/ports/store.ts";
import type { OutboxRow } from "../../runtime/ports/stored-delivery.ts";
import { type Prepare, type Tables, toBytes, toHex } from "./connection.ts";
import type { WriteHandlers } from "./transaction.ts";

export const OUTBOX_TABLES: Tables = {
  1: `
  CREATE TABLE outbox (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL, channel TEXT NOT NULL,
    body_ref BLOB NOT NULL, created_at TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX waiting_outbox ON outbox (position) WHERE state = 'waiting';`,
};

const INSERT = `
  INSERT INTO outbox (id, run, channel, body_ref, created_at, state) VALUES (?, ?, ?, ?, ?, 'waiting')
  ON CONFLICT DO NOTHING`;

export const OUTBOX_QUERIES = {
  waitingOutbox: `
    SELECT o.id, r.id AS runId, o.channel, o.body_ref AS bodyRef, o.created_at AS createdAt, o.state
    FROM outbox o JOIN runs r ON r.position = o.run WHERE o.state = 'waiting' ORDER BY o.position LIMIT ? OFFSET ?`,
};

export const OUTBOX_LISTS = {
  waitingOutbox(prepare: Prepare, { limit, offset }: Page): readonly OutboxRow[] {
    return prepare(OUTBOX_QUERIES.waitingOutbox).all(limit, offset).map(toOutboxRow);
  },
};

export const OUTBOX_WRITES: WriteHandlers<"insert-outbox" | "settle-outbox"> = {
  "insert-outbox"({ prepare, heads }, { id, runId, channel, bodyRef, createdAt }) {
    const { changes } = prepare(INSERT).run(id, heads.get(runId).run, channel, toBytes(bodyRef), createdAt);
    if (changes === 0) throw new StoreError("store.conflict", "The outbox already has a message with this id.");
  },

  "settle-outbox"({ prepare }, { id, state }) {
    const { changes } = prepare("UPDATE outbox SET state = ? WHERE id = ?").run(state, id);
    if (changes === 0) throw new StoreError("store.conflict", "The outbox has no message with this id.");
  },
};

function toOutboxRow(row: object): OutboxRow {
  const { bodyRef, ...rest } = row as Omit<OutboxRow, "bodyRef"> & { readonly bodyRef: Uint8Array };
  return { ...rest, bodyRef: toHex(bodyRef) };
}
