/**
 * When an approval may be decided and written.
 *
 * A1. An approval is decided once, while it is pending and in time, for the plan that was shown.
 * A2. An allowed approval is consumed once, by the plan it was given for, before it expires. The same consumption
 *     repeated succeeds: a retried commit is not a second use.
 * A3. Approvals that are still pending when their run ends expire with it.
 */
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import { timestampOf } from "../ports/clock.ts";
import { type StoredApproval, StoreError } from "../ports/store.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

/** How a pending approval ends together with its run (A3). */
export const EXPIRED_WITH_RUN = { state: "expired", decidedBy: "system" } as const;

/** `found`: the approval that has this id already. */
export function checkInsertApproval(found: StoredApproval | null, given: StoredApproval): WriteVerdict {
  if (found === null) return "write";
  const { runId, callId, planHash } = found;
  const isSame = runId === given.runId && callId === given.callId && planHash === given.planHash;
  return isSame ? "skip" : new StoreError("store.conflict", "Another approval already has this id.");
}

/** Why an answer to this plan comes too late or does not fit; null if it counts. */
export function objectionTo(approval: StoredApproval, shownPlan: Hash, nowMs: number): string | null {
  const { state, expiresAtMs, planHash } = approval;
  const isOpen = state === "pending" || state === "allowed";
  // Silence is a denial, even before the expiry is written. Compared this way round, NaN counts as late.
  if (state === "expired" || (isOpen && !(nowMs < expiresAtMs))) return "This approval has expired.";
  if (state === "forged")
    return "This approval was changed outside of surety, so it counts for nothing. Run surety verify --home.";
  if (state !== "pending") return `This approval was decided already: ${decisionInWords(approval)}.`;
  return shownPlan === planHash ? null : "The plan hash is not that of the plan that was shown.";
}

/** What, by whom and when. */
function decisionInWords({ state, decidedBy, decidedAtMs }: StoredApproval): string {
  const by = decidedBy === null ? "" : ` by ${decidedBy}`;
  const at = decidedAtMs === null ? "" : ` at ${timestampOf(decidedAtMs).replace("T", " ").slice(0, 19)} UTC`;
  return `${state === "consumed" ? "allowed" : state}${by}${at}`;
}

export function checkDecideApproval(found: StoredApproval | null): WriteVerdict {
  if (found?.state === "pending") return "write";
  return new StoreError("store.conflict", "The approval is no longer pending, so it cannot be decided again.");
}

export function checkConsumeApproval(found: StoredApproval | null, planHash: Hash, atMs: number): WriteVerdict {
  if (found?.planHash === planHash) {
    if (found.state === "consumed") return "skip";
    if (found.state === "allowed" && atMs < found.expiresAtMs) return "write";
  }
  return new StoreError("store.conflict", "No unexpired approval allows this plan. Ask for approval again.");
}
