/**
 * VALIDATE_CALLS: may the calls the model proposed be run under this contract?
 *
 * 1. Calls keep the order in which they were proposed.
 * 2. Under strict_mode one refused call refuses the batch: a run never performs half a batch.
 * 3. Any call under `forbidden`, and a forbidden pair, ends the run; nothing of the batch is performed.
 * 4. An approval holds for the plan that was shown: after the last answer every call is planned and decided again.
 *    A changed plan, a changed policy or an expired approval refuses the call.
 * 5. A turn makes as many read-only calls as the contract's policy state gives it (M-P4c). The rest of the batch is skipped,
 *    which is no failure; a strict batch runs whole or not at all.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { readOnlyCallsPerTurn } from "../governance/policy-state.ts";
import type { DecidedCall } from "../journal/entry.ts";
import type { EventOf, PlannedCall, ProposedCall, RunEvent } from "../journal/event.ts";
import { TURN_LIMIT } from "../journal/views/call-outcome.ts";
import { Defect } from "../vocabulary/defect.ts";
import { FAILURES, type FailureReason } from "../vocabulary/failures.ts";
import { canAfford, debit } from "./allowance.ts";
import { isHarmless } from "./call-promise.ts";
import { hasChange } from "./changes.ts";
import { isForbiddenPair } from "./cycle.ts";
import { interruptionOf } from "./deadline.ts";
import { decideNow, whyAsked } from "./decide-now.ts";
import { validationCommands } from "./outstanding.ts";
import { noteRefusal } from "./result.ts";
import type { CallVerdict, Phase, ReadyCall, RunState } from "./state.ts";
import { emit, fail, type Moved, type MoveTo, moveTo, record, type Turn, update, wait } from "./turn.ts";

type Validating = Extract<Phase, { at: "VALIDATE_CALLS" }>;
type Refused = Extract<CallVerdict, { kind: "refused" }>;

export function enterValidateCalls(turn: Turn, { mode, proposed, textRef }: MoveTo<"VALIDATE_CALLS">): Moved {
  const phase: Validating = { at: "VALIDATE_CALLS", mode, proposed, round: 1, planned: null, verdicts: [] };
  if (proposed.length === 0) {
    const recorded = record(turn, "VALIDATE_CALLS", { calls: [] });
    return moveTo(recorded, { to: "COMMIT", ending: { kind: "answered", textRef } });
  }
  if (turn.state.contract.toolPolicy === "forbidden") return refuseAll(turn, phase, "tool.forbidden");
  // The model was asked to wrap up but called a tool: the context has no room for its result.
  if (mode === "synthesis") return refuseAll(turn, phase, "context.exhausted");
  if (mode === "critique") return refuseAll(turn, phase, "protocol.malformed");
  return waitFor(turn, phase);
}

export function handleInValidateCalls(turn: Turn, phase: Validating, event: RunEvent): Moved | null {
  const interruption = interruptionOf(turn.state, event);
  if (interruption !== null) return emitStop(refuseAll(turn, phase, interruption, event));
  if (event.type === "calls.planned") return handlePlan(turn, phase, event);
  if (event.type === "approval.decided") return handleApproval(turn, phase, event);
  return null;
}

function handlePlan(turn: Turn, phase: Validating, { round, calls }: EventOf<"calls.planned">): Moved | null {
  if (round !== phase.round || phase.verdicts.some(isAsking)) return null;
  assertSameCalls(phase.proposed, calls);
  const { planned: before, verdicts } = phase;
  if (before === null) return settle(turn, phase, calls, firstVerdicts(turn.state, calls));
  const rechecked = verdicts.map((verdict, index) => recheck(turn.state, verdict, before[index], calls[index]));
  return settle(turn, phase, calls, rechecked);
}

/** Applies strict_mode and forbidden pairs, then asks the open questions or concludes. */
function settle(turn: Turn, phase: Validating, planned: readonly PlannedCall[], judged: readonly CallVerdict[]): Moved {
  const verdicts = refuseHalfBatch(turn.state, judged);
  const wouldRun = planned.filter((_, index) => verdicts[index]?.kind !== "refused");
  if (hasForbiddenPair(turn.state, wouldRun)) return refuseAll(turn, phase, "cycle.forbidden-pair");
  if (verdicts.some(isAsking)) return waitFor(turn, { ...phase, planned, verdicts });
  return conclude(turn, planned, verdicts);
}

function waitFor(turn: Turn, phase: Validating): Moved {
  return wait(emit(update(turn, { phase }), ...validationCommands(turn.state, phase)));
}

const isAsking = (verdict: CallVerdict): boolean => verdict.kind === "asking";

function handleApproval(turn: Turn, phase: Validating, event: EventOf<"approval.decided">): Moved | null {
  const index = phase.planned?.findIndex((call) => call.callId === event.callId) ?? -1;
  const verdict = phase.verdicts[index];
  const call = phase.planned?.[index];
  if (verdict === undefined || call === undefined || call.planHash !== event.planHash) return null;
  if (verdict.kind === "allowed" && verdict.approvalId === event.approvalId && event.decision === "expired") {
    const verdicts = phase.verdicts.with(index, refused(verdict.policyId, "policy.denied", LAPSED));
    return wait(update(turn, { phase: { ...phase, verdicts } }));
  }
  if (verdict.kind !== "asking") return null;
  const { usedApprovals } = turn.state;
  if (usedApprovals.includes(event.approvalId)) return null;
  const answered: CallVerdict =
    event.decision === "allow"
      ? { kind: "allowed", policyId: verdict.policyId, approvalId: event.approvalId }
      : refused(verdict.policyId, "policy.denied", DENIALS[event.decision]);
  const verdicts = phase.verdicts.with(index, answered);
  const used = update(turn, { usedApprovals: [...usedApprovals, event.approvalId] });
  // The other questions are already asked; after the last answer the calls are planned again (4).
  if (verdicts.some(isAsking)) return wait(update(used, { phase: { ...phase, verdicts } }));
  return waitFor(used, { ...phase, round: 2, verdicts });
}

const LAPSED = "denied: the approval expired before it was used";
const DENIALS = {
  deny: "denied by user",
  expired: "denied: nobody answered in time",
  unreachable: "denied: nobody can be asked on this channel",
} as const;

/** In order, so that each delegation is checked against the budget the earlier ones leave. */
function firstVerdicts(state: RunState, planned: readonly PlannedCall[]): readonly CallVerdict[] {
  let committed = state;
  return planned.map((call) => {
    const verdict = firstVerdict(committed, call);
    committed = debit(committed, call);
    return verdict;
  });
}

function firstVerdict(state: RunState, call: PlannedCall): CallVerdict {
  if (call.problem !== null) {
    return {
      kind: "refused",
      policyId: "plan.problem",
      refusal: { code: call.problem.code, message: "", messageRef: call.problem.messageRef },
    };
  }
  // Without strict_mode a child waits until an earlier one returns budget; a strict batch must be affordable as a whole.
  if (state.contract.strictMode && call.child !== null && !canAfford(state, call.child.budget)) {
    return refused("budget.carved", "policy.denied", "not performed: the run cannot afford what it would delegate");
  }
  const { decision, policyId, reason } = decideNow(state, call);
  if (decision === "deny") return refused(policyId, "policy.denied", reason);
  return decision === "approve"
    ? { kind: "asking", policyId, why: whyAsked(policyId, call) }
    : { kind: "allowed", policyId, approvalId: null };
}

function recheck(
  state: RunState,
  verdict: CallVerdict,
  before: PlannedCall | undefined,
  now: PlannedCall | undefined,
): CallVerdict {
  if (verdict.kind === "refused" || before === undefined || now === undefined) return verdict;
  if (before.planHash !== now.planHash || now.problem !== null) {
    return refused(
      "approval.plan-changed",
      "policy.denied",
      "denied: what would be done has changed since it was approved",
    );
  }
  const { decision, policyId, reason } = decideNow(state, now);
  if (decision === "allow") return verdict;
  const isApproved = verdict.kind === "allowed" && verdict.approvalId !== null;
  return decision === "approve" && isApproved ? verdict : refused(policyId, "policy.denied", reason);
}

function conclude(turn: Turn, planned: readonly PlannedCall[], verdicts: readonly CallVerdict[]): Moved {
  const calls = planned.map((call, index) => decidedCall(call, call.planHash, verdicts[index]));
  let recorded = record(turn, "VALIDATE_CALLS", { calls }, approvalAnswers(turn.state));
  const ready: ReadyCall[] = [];
  for (const [index, call] of planned.entries()) {
    const verdict = verdicts[index];
    if (verdict?.kind === "allowed")
      ready.push({ ...call, approvalId: verdict.approvalId, validatedUnder: turn.state.labels });
    else if (verdict?.kind === "refused")
      recorded = noteRefusal(recorded, call, verdict.refusal.code, verdict.policyId);
  }
  const { within, beyond } = withinTurnLimit(turn.state.contract, ready);
  const skipped = beyond.map(({ callId }) => ({ callId, policyId: TURN_LIMIT }));
  const limited = update(recorded, { skipped: [...recorded.state.skipped, ...skipped] });
  return moveTo(limited, { to: "EXECUTE", calls: within });
}

/** As many read-only calls as the contract's policy state gives a turn; with the first one beyond, the rest is left out (5). */
function withinTurnLimit(
  contract: ExecutionContract,
  calls: readonly ReadyCall[],
): { within: readonly ReadyCall[]; beyond: readonly ReadyCall[] } {
  const limit = contract.policyState ? readOnlyCallsPerTurn(contract.policyState) : null;
  const isLimited = hasChange(contract, "turn.limits-read-only-calls") && !contract.strictMode;
  if (limit === null || !isLimited) return { within: calls, beyond: [] };
  let harmless = 0;
  const end = calls.findIndex((call) => {
    harmless += isHarmless(call) ? 1 : 0;
    return harmless > limit;
  });
  return end < 0 ? { within: calls, beyond: [] } : { within: calls.slice(0, end), beyond: calls.slice(end) };
}

/** The answers to approvals, as the entry's result; the events themselves are quoted in `heard`. */
function approvalAnswers({ heard }: RunState): Parameters<typeof record>[3] {
  const events = heard.filter((event) => event.type === "approval.decided");
  const last = events.at(-1);
  if (last === undefined) return {};
  const approvals = events.map(({ approvalId, callId, decision, by }) => ({ approvalId, callId, decision, by }));
  return { actor: last.by, result: { type: "approvals.given", approvals } };
}

/** Ends the run: every call of the batch is refused for the same reason. */
function refuseAll(turn: Turn, phase: Validating, reason: FailureReason, ending: RunEvent | null = null): Moved {
  const { wire, advice } = FAILURES[reason];
  const verdict = refused(reason, wire, advice);
  const calls = phase.proposed.map((call) => decidedCall(call, null, verdict));
  return fail(record(turn, "VALIDATE_CALLS", { calls }, { result: ending }), reason);
}

function emitStop({ turn, move }: Moved): Moved {
  return { turn: emit(turn, { type: "stop-work" }), move };
}

function refuseHalfBatch(state: RunState, verdicts: readonly CallVerdict[]): readonly CallVerdict[] {
  if (!state.contract.strictMode || verdicts.every((verdict) => verdict.kind !== "refused")) return verdicts;
  return verdicts.map((verdict) =>
    verdict.kind === "refused"
      ? verdict
      : refused("contract.strict-batch", "policy.denied", "not performed: another call of the same batch was refused"),
  );
}

/** `cycle_forbid` pairs [a, b] forbid b directly after a, across turns as well as within a batch. */
function hasForbiddenPair(state: RunState, planned: readonly PlannedCall[]): boolean {
  let previous = state.lastTool;
  for (const { tool } of planned) {
    if (isForbiddenPair(state.contract, previous, tool)) return true;
    previous = tool;
  }
  return false;
}

function decidedCall(
  { callId, tool, argsRef }: ProposedCall | PlannedCall,
  planHash: DecidedCall["planHash"],
  verdict: CallVerdict | undefined,
): DecidedCall {
  if (verdict === undefined || verdict.kind === "asking")
    throw new Defect("a batch was concluded with an open question");
  const { policyId } = verdict;
  const common = { callId, tool, argsRef, planHash, policyId };
  if (verdict.kind === "refused") return { ...common, decision: "deny", approvalId: null, refusal: verdict.refusal };
  return { ...common, decision: "allow", approvalId: verdict.approvalId, refusal: null };
}

function refused(policyId: string, code: string, message: string): Refused {
  return { kind: "refused", policyId, refusal: { code, message, messageRef: null } };
}

function assertSameCalls(proposed: readonly ProposedCall[], planned: readonly PlannedCall[]): void {
  const isSame =
    proposed.length === planned.length && proposed.every((call, index) => call.callId === planned[index]?.callId);
  if (!isSame) throw new Defect("the plan is for other calls than were proposed");
}
