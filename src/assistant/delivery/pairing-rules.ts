/**
 * When a sender may ask to be accepted, and what a stored answer is worth.
 *
 * P1. One code per sender at a time: who asks again before it expires gets no other.
 * P2. So many senders of a channel may wait; a flood of strangers neither fills the store nor the operator's list.
 * P3. Who was accepted or denied does not ask again; only the operator changes that.
 */
import { StoreError } from "../../runtime/ports/store.ts";
import type { StoredPairing } from "../../runtime/ports/stored-delivery.ts";
import type { WriteVerdict } from "../../runtime/ports/write-verdict.ts";

export const MAX_PENDING_SENDERS = 20;

export function isWaiting({ state, expiresAtMs }: StoredPairing, nowMs: number): boolean {
  return state === "pending" && nowMs < expiresAtMs;
}

/** `others`: senders of the channel who wait, this one left out. */
export function checkRequestPairing(found: StoredPairing | null, others: number, nowMs: number): WriteVerdict {
  if (found !== null && (found.state !== "pending" || isWaiting(found, nowMs))) {
    return new StoreError("store.conflict", "This sender has asked already.");
  }
  if (others < MAX_PENDING_SENDERS) return "write";
  return new StoreError("store.conflict", "Too many senders of this channel wait to be accepted.");
}
