/**
 * Reads that cost the same whatever the home holds: short enough for the main thread.
 *
 * P1. Each is over, its transaction too, when it returns.
 */
import type { Body } from "../../kernel/journal/body.ts";
import { type LedgerHead, startLedger } from "../../kernel/journal/ledger.ts";
import type { ApprovalId, BodyRef, Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { PlacedRun, StoredApproval, StoredRun } from "../../runtime/ports/store.ts";
import { SELECT_APPROVALS, toStoredApproval } from "./approval-rows.ts";
import type { Prepare } from "./connection.ts";
import { toBytes, toHex } from "./hex-bytes.ts";
import { bodiesOf, journalHead, linesAfter } from "./journal-rows.ts";
import { SELECT_RUNS, toStoredRun } from "./run-rows.ts";

const RUN_BY_ID = `${SELECT_RUNS} WHERE r.id = ?`;
const RUN_AT = `${SELECT_RUNS} WHERE r.position = ?`;
const USE_OF_KEY = "SELECT run, request_hash FROM idempotency_keys WHERE key_hash = ?";
const RUN_BY_MESSAGE = `
  ${SELECT_RUNS} WHERE r.position = (SELECT run FROM inbox WHERE channel = ? AND message_id = ?)`;

export function findRun(prepare: Prepare, runId: RunId): PlacedRun | null {
  return runOrNull(prepare(RUN_BY_ID).get(runId));
}

export function findRunByKey(
  prepare: Prepare,
  keyHash: Hash,
): { readonly run: StoredRun; readonly requestHash: Hash } | null {
  const use = prepare(USE_OF_KEY).get(toBytes(keyHash));
  const run = use === undefined ? null : runOrNull(prepare(RUN_AT).get(Number(use["run"])));
  return run === null ? null : { run, requestHash: toHex(use?.["request_hash"] as Uint8Array) };
}

export function findRunByMessage(prepare: Prepare, channel: string, messageId: string): StoredRun | null {
  return runOrNull(prepare(RUN_BY_MESSAGE).get(channel, messageId));
}

export function hasSession(prepare: Prepare, sessionId: SessionId): boolean {
  return prepare("SELECT 1 FROM sessions WHERE id = ?").get(sessionId) !== undefined;
}

export function readEntries(prepare: Prepare, runId: RunId, after: number, limit: number): readonly string[] {
  const run = positionOf(prepare, runId);
  return run === null ? [] : linesAfter(prepare, run, after, limit);
}

export function headOf(prepare: Prepare, runId: RunId): ReturnType<typeof journalHead> {
  const run = positionOf(prepare, runId);
  return run === null ? null : journalHead(prepare, run);
}

export function readBodies(
  prepare: Prepare,
  sessionId: SessionId,
  refs: readonly BodyRef[],
  runId: RunId | null,
): ReadonlyMap<BodyRef, Body> {
  const run = runId === null ? null : positionOf(prepare, runId);
  const found = run === null ? new Map<BodyRef, Body>() : bodiesOf(prepare, run, new Set(refs));
  const session = prepare("SELECT position FROM sessions WHERE id = ?").get(sessionId)?.["position"];
  if (session === undefined) return found;
  const query = prepare("SELECT salt, text FROM bodies WHERE session = ? AND ref = ?");
  for (const ref of refs) {
    const row = found.has(ref) ? undefined : query.get(Number(session), toBytes(ref));
    if (row !== undefined) found.set(ref, { salt: toHex(row["salt"] as Uint8Array), text: String(row["text"]) });
  }
  return found;
}

export function approvalsOf(prepare: Prepare, runId: RunId): readonly StoredApproval[] {
  const ofRun = `${SELECT_APPROVALS} WHERE a.run = (SELECT position FROM runs WHERE id = ?) ORDER BY a.position`;
  return prepare(ofRun).all(runId).map(toStoredApproval);
}

export function findApproval(prepare: Prepare, id: ApprovalId): StoredApproval | null {
  const row = prepare(`${SELECT_APPROVALS} WHERE a.id = ?`).get(id);
  return row === undefined ? null : toStoredApproval(row);
}

export function ledgerHead(prepare: Prepare, homeId: string): LedgerHead {
  const row = prepare("SELECT line FROM ledger ORDER BY seq DESC LIMIT 1").get();
  if (row === undefined) return startLedger(homeId);
  const { seq, hash } = JSON.parse(String(row["line"])) as LedgerHead;
  return { seq, hash };
}

function positionOf(prepare: Prepare, runId: RunId): number | null {
  const row = prepare("SELECT position FROM runs WHERE id = ?").get(runId);
  return row === undefined ? null : Number(row["position"]);
}

function runOrNull(row: object | undefined): PlacedRun | null {
  return row === undefined ? null : toStoredRun(row);
}
