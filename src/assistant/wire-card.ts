/** A question to a person as the API and `--json` show it: the same fields, whichever door it is read through. */
import type { ApprovalCard } from "../runtime/ports/approver.ts";
import { timestampOf } from "../runtime/ports/clock.ts";

export function wireCard(card: ApprovalCard) {
  return {
    id: card.id,
    kind: card.kind,
    run_id: card.runId,
    session_id: card.sessionId,
    call_id: card.callId,
    step: card.step,
    tool: card.tool,
    plan: card.shown,
    plan_ref: card.planRef,
    plan_hash: card.planHash,
    why: card.why,
    labels: card.labels,
    created_at: timestampOf(card.createdAtMs),
    expires_at: timestampOf(card.expiresAtMs),
    state: card.state,
    decided_by: card.decidedBy,
    decided_at: card.decidedAtMs === null ? null : timestampOf(card.decidedAtMs),
  };
}
