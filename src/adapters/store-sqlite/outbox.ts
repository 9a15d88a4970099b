/** Messages on their way in and out: tables, rows, reads and writes. When one may be written: assistant/delivery. */
import { checkInsertOutbox, checkMoveOutbox } from "../../assistant/delivery/outbox-rules.ts";
import { type Page, StoreError } from "../../runtime/ports/store.ts";
import type { InboxRow, OutboxRow, OutboxState } from "../../runtime/ports/stored-delivery.ts";
import type { Prepare, Tables } from "./connection.ts";
import { isAsRecorded, record } from "./recorded-rows.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const OUTBOX_TABLES: Tables = {
  1: `
  CREATE TABLE outbox (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL, channel TEXT NOT NULL,
    body_ref BLOB NOT NULL, created_at TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX waiting_outbox ON outbox (position) WHERE state = 'waiting';`,
  // Nothing was ever put into the earlier outbox. The earlier inbox knew runs only, and not when a message came.
  7: `
  DROP TABLE outbox;
  CREATE TABLE outbox (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run_id TEXT, channel TEXT NOT NULL, recipient TEXT NOT NULL,
    text TEXT, created_at TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL, next_at_ms INTEGER NOT NULL,
    problem TEXT
  ) STRICT;
  CREATE INDEX open_outbox ON outbox (channel, position) WHERE state IN ('waiting', 'waiting_approval', 'sending');
  CREATE INDEX outbox_by_state ON outbox (state, position);
  ALTER TABLE inbox RENAME TO earlier_inbox;
  CREATE TABLE inbox (
    channel TEXT NOT NULL, message_id TEXT NOT NULL, state TEXT NOT NULL, run INTEGER, received_at TEXT NOT NULL,
    PRIMARY KEY (channel, message_id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO inbox SELECT i.channel, i.message_id, 'run', i.run, r.created_at
    FROM earlier_inbox i JOIN runs r ON r.position = i.run;
  DROP TABLE earlier_inbox;`,
};

const SELECT = `
  SELECT id, run_id AS runId, channel, recipient, text, created_at AS createdAt, state, attempts, next_at_ms AS nextAtMs,
    problem FROM outbox o`;
const INSERT = `
  INSERT INTO outbox (id, run_id, channel, recipient, text, created_at, state, attempts, next_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)`;
/** Of a message that was sent only the fact is kept. */
const MOVE = `
  UPDATE outbox SET state = ?1, next_at_ms = ?2, problem = ?3, attempts = attempts + (?1 = 'sending'),
    text = CASE ?1 WHEN 'sent' THEN NULL ELSE text END WHERE id = ?4`;
const INSERT_INBOX = `
  INSERT INTO inbox (channel, message_id, state, received_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`;

export const OUTBOX_QUERIES = {
  openOutbox: `
    ${SELECT} WHERE channel = ? AND state IN ('waiting', 'waiting_approval', 'sending')
    ORDER BY position LIMIT ? OFFSET ?`,
  outboxByState: `${SELECT} WHERE state = ? ORDER BY position DESC LIMIT ? OFFSET ?`,
  allOutbox: `${SELECT} ORDER BY position DESC LIMIT ? OFFSET ?`,
};

export const OUTBOX_LISTS = {
  openOutbox(prepare: Prepare, channel: string, { limit, offset }: Page): readonly OutboxRow[] {
    return prepare(OUTBOX_QUERIES.openOutbox)
      .all(channel, limit, offset)
      .map((row) => toOutboxRow(prepare, row));
  },

  listOutbox(
    prepare: Prepare,
    { state }: { readonly state: OutboxState | null },
    { limit, offset }: Page,
  ): readonly OutboxRow[] {
    const rows =
      state === null
        ? prepare(OUTBOX_QUERIES.allOutbox).all(limit, offset)
        : prepare(OUTBOX_QUERIES.outboxByState).all(state, limit, offset);
    return rows.map((row) => toOutboxRow(prepare, row));
  },
};

export const OUTBOX_WRITES: WriteHandlers<"insert-inbox" | "insert-outbox" | "move-outbox"> = {
  "insert-inbox"(transaction, { message: { channel, messageId, state, receivedAt } }) {
    const { changes } = transaction.prepare(INSERT_INBOX).run(channel, messageId, state, receivedAt);
    if (changes === 0) throw new StoreError("store.conflict", "This message of the channel came before.");
    record(transaction, receivedAt, "inbox", channel, messageId);
  },

  "insert-outbox"(transaction, { delivery }) {
    const { prepare } = transaction;
    const { id, runId, channel, recipient, text, createdAt, state } = delivery;
    if (!mayWrite(checkInsertOutbox(findDelivery(prepare, id), delivery))) return;
    prepare(INSERT).run(id, runId, channel, JSON.stringify(recipient), text, createdAt, state);
    record(transaction, createdAt, "outbox", id);
  },

  "move-outbox"(transaction, { id, from, to, nextAtMs, problem, at }) {
    const { prepare } = transaction;
    if (!mayWrite(checkMoveOutbox(findDelivery(prepare, id), from, to))) return;
    prepare(MOVE).run(to, nextAtMs, problem, id);
    record(transaction, at, "outbox", id);
  },
};

export function findDelivery(prepare: Prepare, id: string): OutboxRow | null {
  const row = prepare(`${SELECT} WHERE id = ?`).get(id);
  return row === undefined ? null : toOutboxRow(prepare, row);
}

export function findInbound(prepare: Prepare, channel: string, messageId: string): InboxRow | null {
  const row = prepare(`
    SELECT i.channel, i.message_id AS messageId, i.state, r.id AS runId, i.received_at AS receivedAt
    FROM inbox i LEFT JOIN runs r ON r.position = i.run WHERE i.channel = ? AND i.message_id = ?`);
  const found = row.get(channel, messageId);
  return found === undefined ? null : ({ ...found } as unknown as InboxRow);
}

function toOutboxRow(prepare: Prepare, row: object): OutboxRow {
  const { recipient, ...rest } = row as Omit<OutboxRow, "recipient" | "isForged"> & { readonly recipient: string };
  const isForged = !isAsRecorded(prepare, "outbox", rest.id);
  return { ...rest, recipient: JSON.parse(recipient) as OutboxRow["recipient"], isForged };
}
