/**
 * Writes about approvals.
 *
 * A1. An approval is decided once, while it is pending.
 * A2. One that was allowed is used up once, by the plan it was given for, before its time is over. Its own call may ask
 *     for it again: a commit that was repeated is no second use.
 */
import { StoreError } from "../../runtime/ports/store.ts";
import type { Prepare } from "./connection.ts";
import { toBytes, toHex } from "./hex-bytes.ts";
import type { RunHeads } from "./run-heads.ts";
import type { WriteOf } from "./write-of.ts";

const INSERT = `
  INSERT INTO approvals (id, run, session_id, call_id, step, kind, tool, plan_ref, plan_hash, why, integrity,
    confidentiality, created_at_ms, expires_at_ms, state, decided_by, decided_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const DECIDE = `
  UPDATE approvals SET state = ?, decided_by = ?, decided_at_ms = ? WHERE id = ? AND state = 'pending'`;
const EXPIRE = `
  UPDATE approvals SET state = 'expired', decided_by = 'system', decided_at_ms = ? WHERE run = ? AND state = 'pending'`;
const CONSUME = `
  UPDATE approvals SET state = 'consumed' WHERE id = ? AND plan_hash = ? AND state = 'allowed' AND ? < expires_at_ms`;

export function insertApproval(prepare: Prepare, heads: RunHeads, { approval }: WriteOf<"insert-approval">): void {
  const { run } = heads.get(approval.runId);
  const { changes } = prepare(INSERT).run(
    approval.id,
    run,
    approval.sessionId,
    approval.callId,
    approval.step,
    approval.kind,
    approval.tool,
    toBytes(approval.planRef),
    toBytes(approval.planHash),
    approval.why,
    approval.labels.integrity,
    approval.labels.confidentiality,
    approval.createdAtMs,
    approval.expiresAtMs,
    approval.state,
    approval.decidedBy,
    approval.decidedAtMs,
  );
  if (changes === 0) refuseUnlessSame(prepare, run, approval);
}

export function decideApproval(prepare: Prepare, { id, state, by, atMs }: WriteOf<"decide-approval">): void {
  const { changes } = prepare(DECIDE).run(state, by, atMs, id);
  if (changes === 0) throw new StoreError("store.conflict", "The approval is not pending any more.");
}

/** The run has ended: nobody needs to answer any more. */
export function expireApprovals(prepare: Prepare, run: number, atMs: number): void {
  prepare(EXPIRE).run(atMs, run);
}

export function consumeApproval(prepare: Prepare, { id, planHash, atMs }: WriteOf<"consume-approval">): void {
  const { changes } = prepare(CONSUME).run(id, toBytes(planHash), atMs);
  if (changes > 0) return;
  const row = prepare("SELECT state, plan_hash FROM approvals WHERE id = ?").get(id);
  const isRepeat = row?.["state"] === "consumed" && toHex(row["plan_hash"] as Uint8Array) === planHash;
  if (!isRepeat) throw new StoreError("store.conflict", "The approval does not allow this plan.");
}

function refuseUnlessSame(
  prepare: Prepare,
  run: number,
  { id, callId, planHash }: WriteOf<"insert-approval">["approval"],
): void {
  const same = prepare("SELECT 1 FROM approvals WHERE id = ? AND run = ? AND call_id = ? AND plan_hash = ?");
  if (same.get(id, run, callId, toBytes(planHash)) !== undefined) return;
  throw new StoreError("store.conflict", "Another approval has this id.");
}
