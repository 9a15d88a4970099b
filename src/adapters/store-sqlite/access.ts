/** Tokens, and browsers that are signed in: tables, rows, reads and writes. */
import type { Page } from "../../runtime/ports/store.ts";
import type { StoredBrowser, StoredToken } from "../../runtime/ports/stored-access.ts";
import type { Prepare, Tables } from "./connection.ts";
import { isAsRecorded, record } from "./recorded-rows.ts";
import type { WriteHandlers } from "./transaction.ts";

export const ACCESS_TABLES: Tables = {
  12: `
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, scope TEXT NOT NULL, channel TEXT, sender_id TEXT,
    created_at_ms INTEGER NOT NULL, expires_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE browsers (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL, user_agent TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
    seen_at_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,
};

const ACCESS_QUERIES = {
  listTokens: `
    SELECT id, name, digest, scope, channel, sender_id AS senderId, created_at_ms AS createdAtMs,
      expires_at_ms AS expiresAtMs FROM tokens ORDER BY created_at_ms, id LIMIT ? OFFSET ?`,
  listBrowsers: `
    SELECT id, digest, user_agent AS userAgent, created_at_ms AS createdAtMs, seen_at_ms AS seenAtMs,
      expires_at_ms AS expiresAtMs FROM browsers ORDER BY created_at_ms, id LIMIT ? OFFSET ?`,
};

export const ACCESS_LISTS = {
  listTokens(prepare: Prepare, { limit, offset }: Page): readonly StoredToken[] {
    const rows = prepare(ACCESS_QUERIES.listTokens).all(limit, offset);
    return rows.map(
      (row) => ({ ...row, isForged: !isAsRecorded(prepare, "tokens", String(row["id"])) }) as StoredToken,
    );
  },

  listBrowsers(prepare: Prepare, { limit, offset }: Page): readonly StoredBrowser[] {
    const rows = prepare(ACCESS_QUERIES.listBrowsers).all(limit, offset);
    return rows.map(
      (row) => ({ ...row, isForged: !isAsRecorded(prepare, "browsers", String(row["id"])) }) as StoredBrowser,
    );
  },
};

const PUT_TOKEN = "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
const INSERT_BROWSER = "INSERT INTO browsers VALUES (?, ?, ?, ?, ?, ?)";

export const ACCESS_WRITES: WriteHandlers<
  "put-token" | "remove-token" | "insert-browser" | "remove-browser" | "see-browser"
> = {
  "put-token"(transaction, { token, draft }) {
    const { id, name, digest, scope, channel, senderId, createdAtMs, expiresAtMs } = token;
    transaction.appendLedger(draft);
    transaction.prepare(PUT_TOKEN).run(id, name, digest, scope, channel, senderId, createdAtMs, expiresAtMs);
    record(transaction, draft.ts, "tokens", id);
  },

  "remove-token"(transaction, { draft }) {
    const { tokenId } = draft.data;
    if (transaction.prepare("DELETE FROM tokens WHERE id = ?").run(tokenId).changes === 0) return;
    transaction.appendLedger(draft);
    record(transaction, draft.ts, "tokens", tokenId);
  },

  "insert-browser"(transaction, { browser, draft }) {
    const { id, digest, userAgent, createdAtMs, seenAtMs, expiresAtMs } = browser;
    transaction.appendLedger(draft);
    transaction.prepare(INSERT_BROWSER).run(id, digest, userAgent, createdAtMs, seenAtMs, expiresAtMs);
    record(transaction, draft.ts, "browsers", id);
  },

  "remove-browser"(transaction, { draft }) {
    const { browserId } = draft.data;
    if (transaction.prepare("DELETE FROM browsers WHERE id = ?").run(browserId).changes === 0) return;
    transaction.appendLedger(draft);
    record(transaction, draft.ts, "browsers", browserId);
  },

  "see-browser"({ prepare }, { id, atMs }) {
    prepare("UPDATE browsers SET seen_at_ms = max(seen_at_ms, ?) WHERE id = ?").run(atMs, id);
  },
};
