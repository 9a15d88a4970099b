/**
 * Applies the writes of a commit on the writing connection, inside a transaction that GroupCommit began.
 *
 * W1. A refused write throws a StoreError; GroupCommit undoes the commit and calls `clearCaches`.
 * W2. The ledger is linked inside the transaction, where the order of commits is decided.
 */
import type { CommitResult, Write } from "../../runtime/ports/store.ts";
import { ACCESS_WRITES } from "./access.ts";
import { APPROVAL_WRITES } from "./approvals.ts";
import { CAPABILITY_WRITES } from "./capabilities.ts";
import type { Prepare } from "./connection.ts";
import { ERASURE_WRITES } from "./erasures.ts";
import { GHOST_WRITES } from "./ghosts.ts";
import { GOVERNANCE_WRITES } from "./governance.ts";
import { IMPORT_WRITES } from "./imports.ts";
import { JOB_WRITES } from "./jobs.ts";
import { LedgerAppender } from "./ledger.ts";
import { MEDIA_WRITES } from "./media.ts";
import { MEMORY_WRITES } from "./memories.ts";
import { OUTBOX_WRITES } from "./outbox.ts";
import type { PackedWrite } from "./packed-writes.ts";
import { PAIRING_WRITES } from "./pairings.ts";
import { RunHeads } from "./run-heads.ts";
import { appendEntries, RUN_WRITES } from "./run-writes.ts";
import { SECRET_WRITES } from "./secrets.ts";
import { SEND_SLOT_WRITES } from "./send-slots.ts";
import { SESSION_WRITES } from "./sessions.ts";
import { reserveSpend, SPEND_WRITES } from "./spend.ts";
import type { Transaction, WriteHandlers } from "./transaction.ts";

const WRITES: WriteHandlers<Exclude<Write["type"], "append-entries" | "reserve-spend">> = {
  ...RUN_WRITES,
  ...APPROVAL_WRITES,
  ...CAPABILITY_WRITES,
  ...SPEND_WRITES,
  ...OUTBOX_WRITES,
  ...SEND_SLOT_WRITES,
  ...SESSION_WRITES,
  ...PAIRING_WRITES,
  ...IMPORT_WRITES,
  ...ACCESS_WRITES,
  ...MEDIA_WRITES,
  ...MEMORY_WRITES,
  ...SECRET_WRITES,
  ...GHOST_WRITES,
  ...ERASURE_WRITES,
  ...GOVERNANCE_WRITES,
  ...JOB_WRITES,
  "append-ledger": ({ appendLedger }, { draft }) => appendLedger(draft),
};

export class WriteApplier implements Transaction {
  readonly prepare: Prepare;
  readonly heads: RunHeads;
  readonly appendLedger: Transaction["appendLedger"];
  readonly #ledger: LedgerAppender;

  constructor(prepare: Prepare, homeId: string) {
    this.prepare = prepare;
    this.heads = new RunHeads(prepare);
    this.#ledger = new LedgerAppender(prepare, homeId);
    this.appendLedger = this.#ledger.append;
  }

  /** Returns the result of the commit's reservation, if it made one. */
  apply(writes: readonly PackedWrite[]): CommitResult["spend"] {
    let spend: CommitResult["spend"] = null;
    for (const write of writes) {
      if (write.type === "append-entries") appendEntries(this, write);
      else if (write.type === "reserve-spend") spend = reserveSpend(this, write);
      else (WRITES[write.type] as (transaction: Transaction, write: PackedWrite) => void)(this, write);
    }
    return spend;
  }

  clearCaches(): void {
    this.heads.clear();
    this.#ledger.clear();
  }
}
