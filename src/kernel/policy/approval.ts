/**
 * The life of one approval: pending → allowed → consumed, or denied, or expired. A question about an
 * effect in doubt works the same way; its answers are done, retry or fail.
 *
 * A1. It is bound to one call of one run, its plan hash and its session; anything else is a conflict, never a match.
 *     There is no "allow always": every later call needs an approval of its own.
 * A2. Only a principal that holds the required scope decides, and only once. No function here takes text, so no
 *     model, page or message can decide.
 * A3. Single use: consuming an allowed approval is the only way out of `allowed`, except for its deadline.
 * A4. Silence is a denial: from `expiresAtMs` on, an unconsumed approval is expired, allowed or not. A time that is not
 *     a number counts as past the deadline.
 * A5. An unauthorised principal gets `auth.forbidden` in every state: it learns nothing about the approval.
 */
import type { ApprovalId, CallId, Hash, RunId, SessionId } from "../vocabulary/identifiers.ts";

export interface Approval {
  readonly id: ApprovalId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly callId: CallId;
  readonly planHash: Hash;
  /** On the caller's clock. */
  readonly expiresAtMs: number;
  readonly state: "pending" | "allowed" | "denied" | "done" | "retry" | "fail" | "expired" | "consumed";
  /** The principal that allowed or denied it; null while undecided. */
  readonly decidedBy: string | null;
  readonly requiredScope: string;
}

const STATE_OF = { allow: "allowed", deny: "denied", done: "done", retry: "retry", fail: "fail" } as const;

export interface ApprovalAnswer {
  readonly decision: keyof typeof STATE_OF;
  /** The hash of the plan the approver was shown. */
  readonly planHash: Hash;
  /** From the authenticated connection, never from the message. */
  readonly by: { readonly principal: string; readonly scopes: readonly string[] };
  readonly nowMs: number;
}

export interface ApprovalUse {
  readonly runId: RunId;
  readonly callId: CallId;
  readonly planHash: Hash;
  readonly sessionId: SessionId;
  readonly nowMs: number;
}

type Changed<State extends Approval["state"], Code extends string> =
  | { readonly ok: true; readonly approval: Approval & { readonly state: State } }
  | { readonly ok: false; readonly code: Code };

export function decideApproval(
  approval: Approval,
  answer: ApprovalAnswer,
): Changed<
  (typeof STATE_OF)[ApprovalAnswer["decision"]],
  "auth.forbidden" | "expired" | "already-decided" | "conflict"
> {
  if (!answer.by.scopes.includes(approval.requiredScope)) return { ok: false, code: "auth.forbidden" };
  const { state } = expireApproval(approval, answer.nowMs);
  if (state === "expired") return { ok: false, code: "expired" };
  if (state !== "pending") return { ok: false, code: "already-decided" };
  if (answer.planHash !== approval.planHash) return { ok: false, code: "conflict" };
  return {
    ok: true,
    approval: {
      ...approval,
      state: Object.hasOwn(STATE_OF, answer.decision) ? STATE_OF[answer.decision] : "denied",
      decidedBy: answer.by.principal,
    },
  };
}

export function consumeApproval(
  approval: Approval,
  use: ApprovalUse,
): Changed<"consumed", "expired" | "already-consumed" | "not-allowed" | "conflict"> {
  const { state } = expireApproval(approval, use.nowMs);
  if (state === "expired") return { ok: false, code: "expired" };
  if (state === "consumed") return { ok: false, code: "already-consumed" };
  if (state !== "allowed") return { ok: false, code: "not-allowed" };
  if (!isBoundTo(approval, use)) return { ok: false, code: "conflict" };
  return { ok: true, approval: { ...approval, state: "consumed" } };
}

function isBoundTo(approval: Approval, { runId, callId, planHash, sessionId }: ApprovalUse): boolean {
  return (
    runId === approval.runId &&
    callId === approval.callId &&
    planHash === approval.planHash &&
    sessionId === approval.sessionId
  );
}

/** The approval at `nowMs`. */
export function expireApproval(approval: Approval, nowMs: number): Approval {
  const isOpen = approval.state === "pending" || approval.state === "allowed";
  // Compared this way round, NaN counts as late.
  const isInTime = nowMs < approval.expiresAtMs;
  return isOpen && !isInTime ? { ...approval, state: "expired" } : approval;
}
