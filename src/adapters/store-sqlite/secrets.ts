/** Sealed secrets: table, reads and writes. */
import type { StoredSecret } from "../../runtime/ports/stored-secret.ts";
import type { Prepare, Tables } from "./connection.ts";
import { record } from "./recorded-rows.ts";
import type { WriteHandlers } from "./transaction.ts";

export const SECRET_TABLES: Tables = {
  14: `
  CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed TEXT NOT NULL, updated_at_ms INTEGER NOT NULL)
    STRICT, WITHOUT ROWID;`,
};

export const SECRET_WRITES: WriteHandlers<"put-secret" | "remove-secret"> = {
  "put-secret"(transaction, { secret: { name, sealed, updatedAtMs }, draft }) {
    transaction.prepare("INSERT OR REPLACE INTO secrets VALUES (?, ?, ?)").run(name, sealed, updatedAtMs);
    transaction.appendLedger(draft);
    record(transaction, draft.ts, "secrets", name);
  },

  "remove-secret"(transaction, { draft }) {
    const { name } = draft.data;
    if (transaction.prepare("DELETE FROM secrets WHERE name = ?").run(name).changes === 0) return;
    transaction.appendLedger(draft);
    record(transaction, draft.ts, "secrets", name);
  },
};

export function storedSecrets(prepare: Prepare): readonly StoredSecret[] {
  const rows = prepare("SELECT name, sealed, updated_at_ms AS updatedAtMs FROM secrets ORDER BY name").all();
  return rows.map((row) => ({ ...row }) as unknown as StoredSecret);
}
