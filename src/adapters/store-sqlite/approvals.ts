/** Approvals: table, rows, reads and writes. When one may be written: src/runtime/approvals/approval-rules.ts. */
import type { ApprovalId, BodyRef, Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import {
  checkConsumeApproval,
  checkDecideApproval,
  checkInsertApproval,
  EXPIRED_WITH_RUN,
} from "../../runtime/approvals/approval-rules.ts";
import { type LedgerPlace, readApproval, STATE_OF_DECISION } from "../../runtime/approvals/read-approval.ts";
import type { Page, StoredApproval } from "../../runtime/ports/store.ts";
import { type Prepare, type Tables, toBytes, toHex } from "./connection.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const APPROVAL_TABLES: Tables = {
  1: `
  CREATE TABLE approvals (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL, session_id TEXT NOT NULL,
    call_id TEXT NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL, tool TEXT NOT NULL, plan_ref BLOB NOT NULL,
    plan_hash BLOB NOT NULL, why TEXT NOT NULL, integrity TEXT NOT NULL, confidentiality TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL, state TEXT NOT NULL, decided_by TEXT,
    decided_at_ms INTEGER
  ) STRICT;
  CREATE INDEX approvals_by_run ON approvals (run);
  CREATE INDEX pending_approvals ON approvals (position) WHERE state = 'pending';`,
  // A decision refers to its ledger entry. Entries about effects in doubt named the call, but not the question.
  5: `
  ALTER TABLE approvals ADD COLUMN ledger_seq INTEGER;
  UPDATE approvals SET ledger_seq = d.seq FROM (
    SELECT line ->> '$.data.approval_id' AS id, min(seq) AS seq FROM ledger
    WHERE instr(line, '"kind":"approval.decided"') > 0 AND json_valid(line) GROUP BY 1
  ) d WHERE d.id = approvals.id AND approvals.state <> 'pending';
  UPDATE approvals SET ledger_seq = d.seq FROM (
    SELECT r.position AS run, line ->> '$.data.call_id' AS call_id, line ->> '$.data.decision' AS decision,
      max(seq) AS seq
    FROM ledger JOIN runs r ON r.id = line ->> '$.data.run_id'
    WHERE instr(line, '"kind":"effect.resolved"') > 0 AND json_valid(line) GROUP BY 1, 2, 3
  ) d WHERE approvals.kind = 'resolve' AND d.run = approvals.run AND d.call_id = approvals.call_id
    AND d.decision = approvals.state;`,
  11: `
  ALTER TABLE approvals ADD COLUMN background_ref BLOB;
  CREATE INDEX decided_approvals ON approvals (decided_at_ms) WHERE state <> 'pending';`,
};

const SELECT = `
  SELECT a.id, r.id AS runId, a.session_id AS sessionId, a.call_id AS callId, a.step, a.kind, a.tool,
    a.plan_ref AS planRef, a.plan_hash AS planHash, a.background_ref AS backgroundRef, a.why, a.integrity, a.confidentiality,
    a.created_at_ms AS createdAtMs, a.expires_at_ms AS expiresAtMs, a.state, a.decided_by AS decidedBy,
    a.decided_at_ms AS decidedAtMs, a.ledger_seq AS seq, l.line, b.line AS lineBefore, f.line AS lineAfter
  FROM approvals a JOIN runs r ON r.position = a.run LEFT JOIN ledger l ON l.seq = a.ledger_seq
  LEFT JOIN ledger b ON b.seq = a.ledger_seq - 1 LEFT JOIN ledger f ON f.seq = a.ledger_seq + 1`;
const INSERT = `
  INSERT INTO approvals (id, run, session_id, call_id, step, kind, tool, plan_ref, plan_hash, why, integrity,
    confidentiality, created_at_ms, expires_at_ms, state, decided_by, decided_at_ms, background_ref)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const DECIDE = "UPDATE approvals SET state = ?, decided_by = ?, decided_at_ms = ?, ledger_seq = ? WHERE id = ?";
const EXPIRE = `
  UPDATE approvals SET state = ?, decided_by = ?, decided_at_ms = ? WHERE run = ? AND state = 'pending'`;

export const APPROVAL_QUERIES = {
  pendingApprovals: `
    ${SELECT} WHERE a.state = 'pending' AND a.ledger_seq IS NULL ORDER BY a.position LIMIT ? OFFSET ?`,
  decidedApprovals: `
    ${SELECT} WHERE a.state <> 'pending' ORDER BY a.decided_at_ms DESC, a.position DESC LIMIT ? OFFSET ?`,
  allApprovals: `${SELECT} ORDER BY a.position LIMIT ? OFFSET ?`,
};

export const APPROVAL_LISTS = {
  pendingApprovals(prepare: Prepare, { limit, offset }: Page): readonly StoredApproval[] {
    return prepare(APPROVAL_QUERIES.pendingApprovals).all(limit, offset).map(toStoredApproval);
  },

  decidedApprovals(prepare: Prepare, { limit, offset }: Page): readonly StoredApproval[] {
    return prepare(APPROVAL_QUERIES.decidedApprovals).all(limit, offset).map(toStoredApproval);
  },

  allApprovals(prepare: Prepare, { limit, offset }: Page): readonly StoredApproval[] {
    return prepare(APPROVAL_QUERIES.allApprovals).all(limit, offset).map(toStoredApproval);
  },
};

export const APPROVAL_WRITES: WriteHandlers<"insert-approval" | "decide-approval" | "consume-approval"> = {
  "insert-approval"({ prepare, heads }, { approval }) {
    const { run } = heads.get(approval.runId);
    if (!mayWrite(checkInsertApproval(findApproval(prepare, approval.id), approval))) return;
    prepare(INSERT).run(
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
      approval.backgroundRef === null ? null : toBytes(approval.backgroundRef),
    );
  },

  "decide-approval"({ prepare, appendLedger }, { id, draft }) {
    if (!mayWrite(checkDecideApproval(findApproval(prepare, id)))) return;
    const state = STATE_OF_DECISION[draft.data.decision];
    prepare(DECIDE).run(state, draft.actor, Date.parse(draft.ts), appendLedger(draft), id);
  },

  "consume-approval"({ prepare }, { id, planHash, atMs }) {
    if (!mayWrite(checkConsumeApproval(findApproval(prepare, id), planHash, atMs))) return;
    prepare("UPDATE approvals SET state = 'consumed' WHERE id = ?").run(id);
  },
};

export function expireApprovals(prepare: Prepare, run: number, atMs: number): void {
  prepare(EXPIRE).run(EXPIRED_WITH_RUN.state, EXPIRED_WITH_RUN.decidedBy, atMs, run);
}

export function approvalsOf(prepare: Prepare, runId: RunId): readonly StoredApproval[] {
  const ofRun = `${SELECT} WHERE a.run = (SELECT position FROM runs WHERE id = ?) ORDER BY a.position`;
  return prepare(ofRun).all(runId).map(toStoredApproval);
}

export function findApproval(prepare: Prepare, id: ApprovalId): StoredApproval | null {
  const row = prepare(`${SELECT} WHERE a.id = ?`).get(id);
  return row === undefined ? null : toStoredApproval(row);
}

type ApprovalRow = Omit<StoredApproval, "labels" | "planRef" | "planHash" | "backgroundRef"> &
  StoredApproval["labels"] &
  LedgerPlace & {
    readonly planRef: Uint8Array;
    readonly planHash: Uint8Array;
    readonly backgroundRef: Uint8Array | null;
  };

function toStoredApproval(row: object): StoredApproval {
  const { integrity, confidentiality, planRef, planHash, backgroundRef, seq, line, lineBefore, lineAfter, ...rest } =
    row as ApprovalRow;
  const labels = { integrity, confidentiality };
  const refs = {
    planRef: toHex<BodyRef>(planRef),
    planHash: toHex<Hash>(planHash),
    backgroundRef: backgroundRef === null ? null : toHex<BodyRef>(backgroundRef),
  };
  const approval = { ...rest, ...refs, labels };
  return readApproval(approval, { seq, line, lineBefore, lineAfter });
}
