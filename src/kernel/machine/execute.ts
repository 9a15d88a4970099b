/**
 * EXECUTE: record the intent, then dispatch the call.
 *
 * 1. The entry is the intent: it must be durable before its command is performed.
 * 2. Calls run in proposed order. Only read-only calls next to each other, and delegated runs next to each other,
 *    are dispatched together; their results still enter in order.
 * 3. Identical read-only calls dispatched together share one execution.
 * 4. Policy is checked again before every dispatch: a revocation applies to the next call.
 * 5. After a timeout, a cycle or an escalation no further call of the batch is dispatched.
 */
import { canAfford, debit } from "./allowance.ts";
import { isHarmless } from "./call-promise.ts";
import { isCycle, isForbiddenPair } from "./cycle.ts";
import { stepDeadline } from "./deadline.ts";
import { objectionNow } from "./decide-now.ts";
import { dispatchCommand } from "./outstanding.ts";
import { hasEscalated } from "./recovery.ts";
import { noteRefusal } from "./result.ts";
import type { CallInFlight, ReadyCall, RunState } from "./state.ts";
import { emit, type Moved, type MoveTo, moveTo, record, type Turn, update } from "./turn.ts";

export function enterExecute(turn: Turn, { calls }: MoveTo<"EXECUTE">): Moved {
  const timeLeftMs = Math.min(stepDeadline(turn.state), turn.state.contract.totalTimeoutMs) - turn.state.elapsedMs;
  if (timeLeftMs <= 0 || isCycle(turn.state.contract, turn.state.history) || hasEscalated(turn.state.recovery)) {
    return stopActing(skip(turn, calls, null));
  }
  const { refused, first, others } = upToFirstAllowed(turn, calls);
  if (first === null) return stopActing(refused);
  const group = dispatchedTogether(refused.state, first, others);
  const inFlight = shareIdentical(group).map((call) => ({ ...call, timeoutMs: Math.min(call.timeoutMs, timeLeftMs) }));
  const dispatched = inFlight.reduce(dispatch, refused);
  return moveTo(dispatched, { to: "OBSERVE", inFlight, waiting: others.slice(group.length - 1) });
}

function stopActing(turn: Turn): Moved {
  return moveTo(turn, { to: "COMMIT", ending: { kind: "acted" } });
}

/** Validated calls that policy now refuses: the model gets an error, COMMIT records the rule. */
function upToFirstAllowed(
  turn: Turn,
  calls: readonly ReadyCall[],
): { refused: Turn; first: ReadyCall | null; others: readonly ReadyCall[] } {
  let refused = turn;
  for (const [index, call] of calls.entries()) {
    const objection = objectionTo(refused.state, call);
    if (objection === null) return { refused, first: call, others: calls.slice(index + 1) };
    refused = noteRefusal(skip(refused, [call], objection), call, "policy.denied", objection);
  }
  return { refused, first: null, others: [] };
}

function skip(turn: Turn, calls: readonly ReadyCall[], policyId: string | null): Turn {
  return update(turn, { skipped: [...turn.state.skipped, ...calls.map(({ callId }) => ({ callId, policyId }))] });
}

function objectionTo(state: RunState, call: ReadyCall): string | null {
  if (call.child !== null && !canAfford(state, call.child.budget)) return "budget.carved";
  if (isForbiddenPair(state.contract, state.lastTool, call.tool)) return "cycle.forbidden-pair";
  return objectionNow(state, call);
}

/** Keeps one batch from taking the whole machine. */
const MOST_TOGETHER = 8;

/** The leading calls that may overlap; at least the first one. Delegated budgets must be affordable together. */
function dispatchedTogether(state: RunState, first: ReadyCall, others: readonly ReadyCall[]): readonly ReadyCall[] {
  const group = [first];
  let committed = debit(state, first);
  for (const call of others) {
    if (group.length === MOST_TOGETHER) break;
    if (!mayOverlap(first, call) || objectionTo(committed, call) !== null) break;
    group.push(call);
    committed = debit(committed, call);
  }
  return group;
}

function mayOverlap(a: ReadyCall, b: ReadyCall): boolean {
  return (a.child !== null && b.child !== null) || (isHarmless(a) && isHarmless(b));
}

function shareIdentical(calls: readonly ReadyCall[]): readonly CallInFlight[] {
  const distinct: CallInFlight[] = [];
  for (const call of calls) {
    const twin = distinct.findIndex((other) => isIdentical(other, call));
    const shared = distinct[twin];
    if (shared === undefined) distinct.push({ ...call, sharedBy: [] });
    else distinct[twin] = { ...shared, sharedBy: [...shared.sharedBy, call.callId] };
  }
  return distinct;
}

function isIdentical(a: ReadyCall, b: ReadyCall): boolean {
  return a.child === null && a.tool === b.tool && a.argsRef === b.argsRef;
}

function dispatch(turn: Turn, call: CallInFlight): Turn {
  const { callId, tool, argsRef, planHash, idempotency, idempotencyKey, approvalId, sharedBy, child } = call;
  const decided = {
    callId,
    tool,
    argsRef,
    planHash,
    idempotency,
    idempotencyKey,
    approvalId,
    sharedBy: [...sharedBy],
    child,
  };
  const debited = { ...turn, state: debit(turn.state, call) };
  return emit(record(debited, "EXECUTE", decided), dispatchCommand(debited.state, call));
}
