/** Approvals as they lie in the database, and as the port shows them. */
import type { StoredApproval } from "../../runtime/ports/store.ts";
import { toHex } from "./hex-bytes.ts";

/** To be followed by the conditions. */
export const SELECT_APPROVALS = `
  SELECT a.id, r.id AS run_id, a.session_id, a.call_id, a.step, a.kind, a.tool, a.plan_ref, a.plan_hash, a.why,
    a.integrity, a.confidentiality, a.created_at_ms, a.expires_at_ms, a.state, a.decided_by, a.decided_at_ms
  FROM approvals a JOIN runs r ON r.position = a.run`;

interface ApprovalRow {
  readonly id: StoredApproval["id"];
  readonly run_id: StoredApproval["runId"];
  readonly session_id: StoredApproval["sessionId"];
  readonly call_id: StoredApproval["callId"];
  readonly step: number;
  readonly kind: StoredApproval["kind"];
  readonly tool: string;
  readonly plan_ref: Uint8Array;
  readonly plan_hash: Uint8Array;
  readonly why: string;
  readonly integrity: StoredApproval["labels"]["integrity"];
  readonly confidentiality: StoredApproval["labels"]["confidentiality"];
  readonly created_at_ms: number;
  readonly expires_at_ms: number;
  readonly state: StoredApproval["state"];
  readonly decided_by: string | null;
  readonly decided_at_ms: number | null;
}

export function toStoredApproval(found: object): StoredApproval {
  const row = found as ApprovalRow;
  return {
    id: row.id,
    runId: row.run_id,
    sessionId: row.session_id,
    callId: row.call_id,
    step: row.step,
    kind: row.kind,
    tool: row.tool,
    planRef: toHex(row.plan_ref),
    planHash: toHex(row.plan_hash),
    why: row.why,
    labels: { integrity: row.integrity, confidentiality: row.confidentiality },
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    state: row.state,
    decidedBy: row.decided_by,
    decidedAtMs: row.decided_at_ms,
  };
}
