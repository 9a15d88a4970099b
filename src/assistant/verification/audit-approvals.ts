/**
 * The table of approvals is only an index of the ledger: a decided row must be what the ledger says of it, and what the
 * ledger decided must stand in its row. This finds invented permissions, and decisions that were removed.
 */
import type { LedgerEntry } from "../../kernel/journal/ledger.ts";
import type { ApprovalId, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { StoredApproval } from "../../runtime/ports/store.ts";

export interface ApprovalFinding {
  readonly code: "approval.forged" | "approval.missing" | "approval.decided-twice";
  readonly approvalId: ApprovalId;
  readonly runId: RunId;
  /** The ledger entry that decided it; null when there is none. */
  readonly ledgerSeq: number | null;
}

export function auditApprovals(
  ledger: readonly LedgerEntry[],
  known: readonly StoredApproval[],
): readonly ApprovalFinding[] {
  const findings: ApprovalFinding[] = [];
  const decided = new Map<ApprovalId, ApprovalFinding>();
  for (const { kind, data, seq: ledgerSeq } of ledger) {
    if ((kind !== "approval.decided" && kind !== "effect.resolved") || data.approvalId === undefined) continue;
    const { approvalId, runId } = data;
    if (!decided.has(approvalId)) decided.set(approvalId, { code: "approval.missing", approvalId, runId, ledgerSeq });
    else findings.push({ code: "approval.decided-twice", approvalId, runId, ledgerSeq });
  }
  for (const { id: approvalId, runId, state } of known) {
    const ledgerSeq = decided.get(approvalId)?.ledgerSeq ?? null;
    if (state === "forged") findings.push({ code: "approval.forged", approvalId, runId, ledgerSeq });
    // A row that says nothing was decided leaves what the ledger says unanswered.
    if (state !== "pending") decided.delete(approvalId);
  }
  return [...findings, ...decided.values()];
}
