/**
 * Writes about sessions and runs.
 *
 * R1. An append stands on the head and the epoch its writer knows, or it is what stands there already, or it is fenced.
 * R2. An epoch only grows. A run that has ended stays as it ended, and asks nobody anything.
 * R3. `run_counts` says how many runs have each status.
 */
import { terminalStatus } from "../../kernel/vocabulary/outcome.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { expireApprovals } from "./approval-writes.ts";
import type { Prepare } from "./connection.ts";
import { toBytes } from "./hex-bytes.ts";
import { appendRow, hashAt } from "./journal-rows.ts";
import type { PackedAppend } from "./packed-writes.ts";
import type { RunHead, RunHeads } from "./run-heads.ts";
import { FIRST_ENDED_STATUS, statusNumber } from "./schema.ts";
import type { WriteOf } from "./write-of.ts";

const QUEUED = statusNumber("queued");

const INSERT_SESSION = `
  INSERT INTO sessions (id, agent_id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`;
const INSERT_RUN = `
  INSERT INTO runs (id, agent_id, source, lane, parent_run_id, model, thinking_mode, contract_hash, contract, accepted,
    created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const INSERT_KEY = `
  INSERT INTO idempotency_keys (key_hash, request_hash, run) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`;
const INSERT_MESSAGE = "INSERT INTO inbox (channel, message_id, run) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
const SEAL = `
  UPDATE run_states SET status = ?, outcome = ?, reason = ?, answer_ref = ?, ended_at = ?, tool_calls = ?,
    duration_ms = ?, head_hash = ?, state_digest = ?, integrity = ?, confidentiality = ? WHERE run = ?`;
const CANCEL = `
  UPDATE run_states SET cancelled_by = ? WHERE run = ? AND cancelled_by IS NULL AND status < ${FIRST_ENDED_STATUS}`;

/** A session that is there already is left as it is. */
export function insertSession(prepare: Prepare, { sessionId, agentId, createdAt }: WriteOf<"insert-session">): void {
  prepare(INSERT_SESSION).run(sessionId, agentId, createdAt);
}

export function insertRun(
  prepare: Prepare,
  heads: RunHeads,
  { run, idempotency, inbound }: WriteOf<"insert-run">,
): void {
  const session = heads.session(run.sessionId);
  const position = insertRow(prepare, run);
  prepare("INSERT INTO run_states (run, session, status, epoch) VALUES (?, ?, ?, 0)").run(position, session, QUEUED);
  if (idempotency !== null) {
    const { keyHash, requestHash } = idempotency;
    requireNew(prepare(INSERT_KEY).run(toBytes(keyHash), toBytes(requestHash), position));
  }
  if (inbound !== null) requireNew(prepare(INSERT_MESSAGE).run(inbound.channel, inbound.messageId, position));
  count(prepare, QUEUED, 1);
}

export function appendEntries(prepare: Prepare, heads: RunHeads, write: PackedAppend): void {
  const [runId, epoch, afterSeq, afterHash, newHash, count, entries, bodies] = write;
  const head = heads.get(runId);
  if (head.epoch !== epoch) throw fenced();
  if (head.seq !== afterSeq || head.hash !== afterHash) {
    if (isRepeat(prepare, head, write)) return;
    throw fenced();
  }
  if (count === 0) return;
  const seq = afterSeq + count;
  appendRow(prepare, head.run, seq, entries, bodies);
  heads.set(runId, { ...head, seq, hash: newHash });
}

export function claimRun(prepare: Prepare, heads: RunHeads, { runId, epoch }: WriteOf<"claim-run">): void {
  const head = heads.get(runId);
  if (epoch <= head.epoch) throw fenced();
  prepare("UPDATE run_states SET epoch = ? WHERE run = ?").run(epoch, head.run);
  heads.set(runId, { ...head, epoch });
}

export function setStatus(prepare: Prepare, heads: RunHeads, { runId, status }: WriteOf<"set-status">): void {
  const head = heads.get(runId);
  const number = statusNumber(status);
  if (head.status === number) return;
  if (head.status >= FIRST_ENDED_STATUS) throw new StoreError("store.conflict", "The run has ended.");
  prepare("UPDATE run_states SET status = ? WHERE run = ?").run(number, head.run);
  move(prepare, head.status, number);
  heads.set(runId, { ...head, status: number });
}

export function sealRun(prepare: Prepare, heads: RunHeads, write: WriteOf<"seal-run">): void {
  const { runId, outcome, reason, answerRef, endedAt, ended } = write;
  const head = heads.get(runId);
  const status = statusNumber(terminalStatus(outcome));
  if (head.status >= FIRST_ENDED_STATUS) {
    const sealed = prepare("SELECT outcome FROM run_states WHERE run = ?").get(head.run);
    if (sealed?.["outcome"] === outcome) return;
    throw new StoreError("store.conflict", "The run has ended with another outcome.");
  }
  prepare(SEAL).run(
    status,
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
  move(prepare, head.status, status);
  heads.drop(runId);
}

export function requestCancel(prepare: Prepare, heads: RunHeads, { runId, by }: WriteOf<"request-cancel">): void {
  prepare(CANCEL).run(by, heads.get(runId).run);
}

function insertRow(prepare: Prepare, run: WriteOf<"insert-run">["run"]): number {
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
  throw new StoreError("store.conflict", "This run, idempotency key or message was accepted before.");
}

/** A hash is of all before it, too: what ends in the same one is the same. */
function isRepeat(prepare: Prepare, head: RunHead, [, , afterSeq, , newHash, count]: PackedAppend): boolean {
  if (count === 0 || afterSeq + count > head.seq) return false;
  return hashAt(prepare, head.run, afterSeq + count) === newHash;
}

function fenced(): StoreError {
  return new StoreError("store.fenced", "The run has gone on without this writer. Read it again before writing.");
}

function move(prepare: Prepare, from: number, to: number): void {
  count(prepare, from, -1);
  count(prepare, to, 1);
}

function count(prepare: Prepare, status: number, change: number): void {
  prepare("UPDATE run_counts SET total = total + ? WHERE status = ?").run(change, status);
}
