/** The outbox is no chain of its own: each message must be what its run's journal and the ledger's decisions vouch for. */
import type { Store } from "../../runtime/ports/store.ts";
import { type Disagreement, findDisagreement } from "../delivery/row-agreement.ts";
import { readAll } from "./read-all.ts";

export interface OutboxFinding {
  readonly code: Disagreement["code"];
  readonly deliveryId: string;
  readonly ledgerSeq: null;
}

export async function auditOutbox(store: Store): Promise<readonly OutboxFinding[]> {
  const rows = await readAll((offset, limit) => store.listOutbox({ state: null }, { limit, offset }));
  const findings: OutboxFinding[] = [];
  for (const row of rows) {
    // Named by the audit of rows.
    if (row.isForged) continue;
    const disagreement = await findDisagreement(store, row, null);
    if (disagreement !== null) findings.push({ code: disagreement.code, deliveryId: row.id, ledgerSeq: null });
  }
  return findings;
}
