/** Runs as they lie in the database, and as the port shows them. */
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import { type PlacedRun, RUN_STATUSES, type RunEnding, type StoredRun } from "../../runtime/ports/store.ts";
import { toHex } from "./hex-bytes.ts";

/** To be followed by the conditions; `s` are the states, `r` the runs. */
export const SELECT_RUNS = `
  SELECT r.position, r.id, r.agent_id, n.id AS session_id, r.source, r.lane, r.parent_run_id, r.model,
    r.thinking_mode, r.contract_hash, r.contract, r.accepted, r.created_at, s.status, s.epoch, s.outcome, s.reason,
    s.answer_ref, s.ended_at, s.tool_calls, s.duration_ms, s.head_hash, s.state_digest, s.integrity,
    s.confidentiality, s.cancelled_by
  FROM run_states s JOIN runs r ON r.position = s.run JOIN sessions n ON n.position = s.session`;

interface RunRow {
  readonly position: number;
  readonly id: StoredRun["runId"];
  readonly agent_id: string;
  readonly session_id: StoredRun["sessionId"];
  readonly source: string;
  readonly lane: string;
  readonly parent_run_id: StoredRun["parentRunId"];
  readonly model: string;
  readonly thinking_mode: StoredRun["thinkingMode"];
  readonly contract_hash: Uint8Array;
  readonly contract: string;
  readonly accepted: string;
  readonly created_at: string;
  readonly status: number;
  readonly epoch: number;
  readonly outcome: StoredRun["outcome"];
  readonly reason: string | null;
  readonly answer_ref: Uint8Array | null;
  readonly ended_at: string | null;
  /** This and the next five are null together, until the run has ended. */
  readonly tool_calls: number | null;
  readonly duration_ms: number;
  readonly head_hash: Uint8Array;
  readonly state_digest: Uint8Array;
  readonly integrity: Labels["integrity"];
  readonly confidentiality: Labels["confidentiality"];
  readonly cancelled_by: string | null;
}

function toRunEnding(row: RunRow & { readonly tool_calls: number }): RunEnding {
  return {
    toolCalls: row.tool_calls,
    durationMs: row.duration_ms,
    headHash: toHex(row.head_hash),
    stateDigest: toHex(row.state_digest),
    labels: { integrity: row.integrity, confidentiality: row.confidentiality },
  };
}

export function toStoredRun(found: object): PlacedRun {
  const row = found as RunRow;
  return {
    runId: row.id,
    agentId: row.agent_id,
    sessionId: row.session_id,
    source: row.source,
    lane: row.lane,
    parentRunId: row.parent_run_id,
    model: row.model,
    thinkingMode: row.thinking_mode,
    contractHash: toHex(row.contract_hash),
    contract: row.contract,
    accepted: row.accepted,
    createdAt: row.created_at,
    position: row.position,
    status: RUN_STATUSES[row.status] ?? "failed",
    epoch: row.epoch,
    outcome: row.outcome,
    reason: row.reason,
    answerRef: row.answer_ref === null ? null : toHex(row.answer_ref),
    endedAt: row.ended_at,
    ended: row.tool_calls === null ? null : toRunEnding({ ...row, tool_calls: row.tool_calls }),
    cancelledBy: row.cancelled_by,
  };
}
