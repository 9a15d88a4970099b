/**
 * Until when the approvals of one run may be used. An approval whose deadline is not known has expired, and so has one that
 * the ledger does not allow.
 */
import type { Answer } from "../../kernel/journal/entry.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import type { ApprovalId, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Store } from "../ports/store.ts";

type ApprovedCall = Pick<Extract<Answer, { type: "approval.decided" }>, "approvalId" | "callId" | "planHash">;

export class ApprovalDeadlines {
  readonly #store: Pick<Store, "approvalsOf">;
  readonly #runId: RunId;
  #expiresAtMs: ReadonlyMap<ApprovalId, number> = new Map();

  constructor(store: Pick<Store, "approvalsOf">, runId: RunId) {
    this.#store = store;
    this.#runId = runId;
  }

  async load(): Promise<void> {
    const approvals = await this.#store.approvalsOf(this.#runId);
    const given = approvals.filter(({ state }) => state === "allowed" || state === "consumed");
    this.#expiresAtMs = new Map(given.map(({ id, expiresAtMs }) => [id, expiresAtMs]));
  }

  /** Of a resumed run; a run without approved calls needs none. */
  async loadFor(state: RunState): Promise<void> {
    if (approvedCalls(state).length > 0) await this.load();
  }

  /** False where no approval is needed. */
  hasPassed(id: ApprovalId | null, nowMs: number): boolean {
    return id !== null && nowMs >= (this.#expiresAtMs.get(id) ?? 0);
  }

  lapsedIn(state: RunState, nowMs: number): readonly Answer[] {
    return approvedCalls(state)
      .filter(({ approvalId }) => this.hasPassed(approvalId, nowMs))
      .map((call) => ({ type: "approval.decided", step: state.step, ...call, decision: "expired", by: "system" }));
  }
}

/** Calls that were allowed and have not started. */
function approvedCalls({ phase }: RunState): readonly ApprovedCall[] {
  if (phase.at === "OBSERVE") return phase.waiting.filter(({ hasLapsed }) => !hasLapsed).flatMap(toApprovedCall);
  if (phase.at !== "VALIDATE_CALLS") return [];
  return phase.verdicts.flatMap((verdict, index) => {
    const call = phase.planned?.[index];
    if (call === undefined || verdict.kind !== "allowed") return [];
    return toApprovedCall({ ...call, approvalId: verdict.approvalId });
  });
}

function toApprovedCall({
  approvalId,
  callId,
  planHash,
}: Omit<ApprovedCall, "approvalId"> & { readonly approvalId: ApprovalId | null }): readonly ApprovedCall[] {
  return approvalId === null ? [] : [{ approvalId, callId, planHash }];
}
