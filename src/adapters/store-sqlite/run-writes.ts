/**
 * Writes about runs, journals and bodies. When they may be written: src/runtime/run/run-rules.ts.
 *
 * R1. `run_counts` always says how many runs have each status.
 */
import { type Outcome, terminalStatus } from "../../kernel/vocabulary/outcome.ts";
import { type NewRun, type RunStatus, StoreError } from "../../runtime/ports/store.ts";
import {
  COMPACTION_SOURCE,
  checkAppend,
  checkCancel,
  checkClaim,
  checkCompleteAcceptance,
  checkSeal,
  checkSetStatus,
} from "../../runtime/run/run-rules.ts";
import { expireApprovals } from "./approvals.ts";
import { type Prepare, toBytes } from "./connection.ts";
import { appendRow, hashAt } from "./journal.ts";
import type { PackedAppend } from "./packed-writes.ts";
import { record } from "./recorded-rows.ts";
import { statusNumber } from "./runs.ts";
import { mayWrite, type Transaction, type WriteHandlers } from "./transaction.ts";

const INSERT_RUN = `
  INSERT INTO runs (id, agent_id, source, lane, parent_run_id, model, thinking_mode, contract_hash, contract, accepted,
    created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const INSERT_KEY = `
  INSERT INTO idempotency_keys (key_hash, request_hash, run) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`;
const INSERT_MESSAGE = `
  INSERT INTO inbox (channel, message_id, state, run, received_at) VALUES (?, ?, 'run', ?, ?) ON CONFLICT DO NOTHING`;
const TOUCH_SESSION = "UPDATE sessions SET active_at = ?, runs = runs + 1 WHERE position = ?";
const SEAL = `
  UPDATE run_states SET status = ?, outcome = ?, reason = ?, answer_ref = ?, ended_at = ?, tool_calls = ?,
    duration_ms = ?, head_hash = ?, state_digest = ?, integrity = ?, confidentiality = ? WHERE run = ?`;
const PUT_BODY = "INSERT INTO bodies (ref, session, salt, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";

export function appendEntries({ prepare, heads }: Transaction, append: PackedAppend): void {
  const head = heads.get(append.runId);
  const lastSeq = append.after.seq + append.count;
  const recorded = lastSeq <= head.seq ? hashAt(prepare, head.run, lastSeq) : null;
  if (!mayWrite(checkAppend(head, append, recorded))) return;
  appendRow(prepare, head.run, lastSeq, append.entries, append.bodies);
  heads.set(append.runId, { ...head, seq: lastSeq, hash: append.head });
}

export const RUN_WRITES: WriteHandlers<
  "insert-run" | "complete-acceptance" | "put-bodies" | "claim-run" | "set-status" | "seal-run" | "request-cancel"
> = {
  "insert-run"(transaction, { run, idempotency, inbound }) {
    const { prepare, heads } = transaction;
    const session = heads.session(run.sessionId);
    const position = insertRow(prepare, run);
    const queued = statusNumber("queued");
    prepare("INSERT INTO run_states (run, session, status, epoch) VALUES (?, ?, ?, 0)").run(position, session, queued);
    if (idempotency !== null) {
      const { keyHash, requestHash } = idempotency;
      requireNew(prepare(INSERT_KEY).run(toBytes(keyHash), toBytes(requestHash), position));
    }
    if (inbound !== null) {
      requireNew(prepare(INSERT_MESSAGE).run(inbound.channel, inbound.messageId, position, run.createdAt));
      record(transaction, run.createdAt, "inbox", inbound.channel, inbound.messageId);
    }
    if (run.source !== COMPACTION_SOURCE) prepare(TOUCH_SESSION).run(run.createdAt, session);
    count(prepare, "queued", 1);
  },

  "complete-acceptance"({ prepare, heads }, { runId, accepted }) {
    const head = heads.get(runId);
    if (!mayWrite(checkCompleteAcceptance(head))) return;
    prepare("UPDATE runs SET completed = ? WHERE position = ?").run(accepted, head.run);
  },

  "put-bodies"({ prepare, heads }, { sessionId, bodies }) {
    const session = heads.session(sessionId);
    const put = prepare(PUT_BODY);
    for (const { ref, salt, text } of bodies) put.run(toBytes(ref), session, toBytes(salt), text);
  },

  "claim-run"({ prepare, heads }, { runId, epoch }) {
    const head = heads.get(runId);
    if (!mayWrite(checkClaim(head, epoch))) return;
    prepare("UPDATE run_states SET epoch = ? WHERE run = ?").run(epoch, head.run);
    heads.set(runId, { ...head, epoch });
  },

  "set-status"({ prepare, heads }, { runId, status }) {
    const head = heads.get(runId);
    if (!mayWrite(checkSetStatus(head.status, status))) return;
    prepare("UPDATE run_states SET status = ? WHERE run = ?").run(statusNumber(status), head.run);
    recount(prepare, head.status, status);
    heads.set(runId, { ...head, status });
  },

  "seal-run"({ prepare, heads }, { runId, outcome, reason, answerRef, endedAt, ended }) {
    const head = heads.get(runId);
    const sealed = prepare("SELECT outcome FROM run_states WHERE run = ?").get(head.run)?.["outcome"];
    if (!mayWrite(checkSeal(head.status, (sealed ?? null) as Outcome | null, outcome))) return;
    const status = terminalStatus(outcome);
    prepare(SEAL).run(
      statusNumber(status),
      outcome,
      reason,
      answerRef === null ? null : toBytes(answerRef),
      endedAt,
      ended.toolCalls,
      ended.durationMs,
      toBytes(ended.headHash),
      toBytes(ended.stateDigest),
      ended.labels.integrity,
      ended.labels.confidentiality,
      head.run,
    );
    expireApprovals(prepare, head.run, Date.parse(endedAt));
    recount(prepare, head.status, status);
    heads.drop(runId);
  },

  "request-cancel"({ prepare, heads }, { runId, by }) {
    const { run, status } = heads.get(runId);
    const cancelledBy = prepare("SELECT cancelled_by FROM run_states WHERE run = ?").get(run)?.["cancelled_by"];
    if (!mayWrite(checkCancel(status, (cancelledBy ?? null) as string | null))) return;
    prepare("UPDATE run_states SET cancelled_by = ? WHERE run = ?").run(by, run);
  },
};

function insertRow(prepare: Prepare, run: NewRun): number {
  const inserted = prepare(INSERT_RUN).run(
    run.runId,
    run.agentId,
    run.source,
    run.lane,
    run.parentRunId,
    run.model,
    run.thinkingMode,
    toBytes(run.contractHash),
    run.contract,
    run.accepted,
    run.createdAt,
  );
  requireNew(inserted);
  return Number(inserted.lastInsertRowid);
}

function requireNew({ changes }: { readonly changes: number | bigint }): void {
  if (changes > 0) return;
  throw new StoreError("store.conflict", "A run with this id, idempotency key or inbound message already exists.");
}

function recount(prepare: Prepare, from: RunStatus, to: RunStatus): void {
  count(prepare, from, -1);
  count(prepare, to, 1);
}

function count(prepare: Prepare, status: RunStatus, change: number): void {
  prepare("UPDATE run_counts SET total = total + ? WHERE status = ?").run(change, statusNumber(status));
}
