/**
 * ApprovalDecisions records verdicts, each once and with its ledger entry: those of an authenticated operator, and
 * expiry. A verdict names the hash of the plan that was shown; another hash is a conflict.
 */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import type { ApprovalId, Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import { timestampOf } from "../ports/clock.ts";
import { type StoredApproval, StoreError } from "../ports/store.ts";
import type { RunPorts } from "../run-ports.ts";
import { objectionTo } from "./approval-rules.ts";

export interface ApprovalVerdict {
  readonly id: ApprovalId;
  readonly decision: "allow" | "deny" | "done" | "retry" | "fail";
  readonly planHash: Hash;
  readonly principal: string;
}

export type Decided =
  | { readonly ok: true; readonly runId: RunId }
  | { readonly ok: false; readonly code: "not_found" | "conflict" | "invalid.request"; readonly message: string };

type Decision = ApprovalVerdict["decision"] | "expired";

export class ApprovalDecisions {
  readonly #ports: Pick<RunPorts, "store" | "clock">;
  /** The verdict is durable. */
  readonly #onDecided: (approval: StoredApproval) => void;

  constructor(ports: Pick<RunPorts, "store" | "clock">, onDecided: (approval: StoredApproval) => void) {
    this.#ports = ports;
    this.#onDecided = onDecided;
  }

  async decide({ id, decision, planHash, principal }: ApprovalVerdict): Promise<Decided> {
    const { store, clock } = this.#ports;
    const approval = await store.findApproval(id);
    if (approval === null)
      return refuse("not_found", "There is no such approval; surety approvals ls lists those that wait.");
    const answers = approval.kind === "approve" ? ["allow", "deny"] : ["done", "retry", "fail"];
    if (!answers.includes(decision)) {
      return refuse("invalid.request", `Answer this question with one of: ${answers.join(", ")}.`);
    }
    const atMs = clock.nowMs();
    const objection = objectionTo(approval, planHash, atMs);
    if (objection !== null) return refuse("conflict", objection);
    return await this.#record(approval, decision, principal, atMs);
  }

  async expire(approval: StoredApproval, nowMs: number): Promise<void> {
    await this.#record(approval, "expired", "system", nowMs);
  }

  async #record(approval: StoredApproval, decision: Decision, by: string, atMs: number): Promise<Decided> {
    const { id, runId } = approval;
    try {
      const draft = decisionDraft(approval, decision, by, timestampOf(atMs));
      await this.#ports.store.commit([{ type: "decide-approval", id, draft }], "barrier");
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.conflict")) throw error;
      const decided = await this.#ports.store.findApproval(id);
      const objection = decided === null ? null : objectionTo(decided, approval.planHash, atMs);
      return refuse("conflict", objection ?? error.message);
    }
    this.#onDecided(approval);
    return { ok: true, runId };
  }
}

export function decisionDraft(
  { kind, runId, callId, id: approvalId, planHash }: StoredApproval,
  decision: Decision,
  actor: string,
  ts: string,
): LedgerDraft<"approval.decided"> | LedgerDraft<"effect.resolved"> {
  if (kind === "resolve") {
    const resolution = decision === "allow" || decision === "deny" ? "expired" : decision;
    return { kind: "effect.resolved", ts, actor, data: { runId, callId, approvalId, decision: resolution } };
  }
  const permission = decision === "allow" || decision === "deny" ? decision : "expired";
  return { kind: "approval.decided", ts, actor, data: { runId, callId, approvalId, planHash, decision: permission } };
}

function refuse(code: Extract<Decided, { ok: false }>["code"], message: string): Decided {
  return { ok: false, code, message };
}
