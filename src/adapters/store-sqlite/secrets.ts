/** Sealed secrets: table, reads and writes. */
import type { StoredSecret } from "../../runtime/ports/stored-secret.ts";
import type { Prepare, Tables } from "./connection.ts";
import type { WriteHandlers } from "./transaction.ts";

export const SECRET_TABLES: Tables = {
  14: `
  CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed TEXT NOT NULL, updated_at_ms INTEGER NOT NULL)
    STRICT, WITHOUT ROWID;`,
};

export const SECRET_WRITES: WriteHandlers<"put-secret" | "remove-secret"> = {
  "put-secret"({ prepare, appendLedger }, { secret: { name, sealed, updatedAtMs }, draft }) {
    prepare("INSERT OR REPLACE INTO secrets VALUES (?, ?, ?)").run(name, sealed, updatedAtMs);
    appendLedger(draft);
  },

  "remove-secret"({ prepare, appendLedger }, { draft }) {
    const { changes } = prepare("DELETE FROM secrets WHERE name = ?").run(draft.data.name);
    if (changes > 0) appendLedger(draft);
  },
};

export function storedSecrets(prepare: Prepare): readonly StoredSecret[] {
  const rows = prepare("SELECT name, sealed, updated_at_ms AS updatedAtMs FROM secrets ORDER BY name").all();
  return rows.map((row) => ({ ...row }) as unknown as StoredSecret);
}
