/**
 * When a message of the outbox may be written, and where it may go from its state.
 *
 * O1. A message is sent only from `waiting`, and nothing is sent before `sending` is durable.
 * O2. What may have been sent goes back to `waiting` only by a person's decision, or on a channel that drops repeats.
 * O3. `sent` is final.
 * O4. A row that the ledger does not confirm can only fail.
 */
import { StoreError } from "../../runtime/ports/store.ts";
import type { NewDelivery, OutboxRow, OutboxState } from "../../runtime/ports/stored-delivery.ts";
import type { WriteVerdict } from "../../runtime/ports/write-verdict.ts";

const MOVES: Readonly<Record<OutboxState, readonly OutboxState[]>> = {
  waiting: ["sending", "failed"],
  waiting_approval: ["waiting", "failed"],
  sending: ["waiting", "sent", "failed", "ambiguous"],
  ambiguous: ["waiting", "waiting_approval", "sent", "failed"],
  failed: ["waiting", "waiting_approval"],
  sent: [],
};

export function checkInsertOutbox(found: OutboxRow | null, given: NewDelivery): WriteVerdict {
  if (found === null) return "write";
  const isSame =
    found.channel === given.channel && found.runId === given.runId && [given.text, null].includes(found.text);
  return isSame ? "skip" : new StoreError("store.conflict", "The outbox already has a message with this id.");
}

export function checkMoveOutbox(found: OutboxRow | null, from: OutboxState, to: OutboxState): WriteVerdict {
  if (found?.isForged && to !== "failed") {
    return new StoreError("store.conflict", "The message was changed outside of surety; run surety verify --home.");
  }
  if (found?.isForged) return "write";
  if (found?.state === from && MOVES[from].includes(to)) return "write";
  return new StoreError("store.conflict", "The message is no longer in the state in which it was seen.");
}
