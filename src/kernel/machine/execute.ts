/**
 * EXECUTE: state the intent, then let it be done.
 *
 * 1. The entry is the intent: it must be durable before its command is performed.
 * 2. Calls run in proposed order. Only read-only calls next to each other, and delegated runs next to each other,
 *    are dispatched together; their results still enter in order.
 * 3. Identical read-only calls dispatched together share one execution.
 * 4. Live policy is asked again before every dispatch: a revocation acts on the very next call.
 */

import { canAfford } from "./allowance.ts";
import { isForbiddenPair } from "./cycle.ts";
import { stepDeadline } from "./deadline.ts";
import { decideNow } from "./decide-now.ts";
import { dispatchCommand } from "./outstanding.ts";
import { noteRefusal } from "./result.ts";
import type { CallInFlight, ReadyCall, RunState } from "./state.ts";
import { emit, type Moved, type MoveTo, moveTo, record, type Turn, update } from "./turn.ts";

export function enterExecute(turn: Turn, { calls }: MoveTo<"EXECUTE">): Moved {
  const timeLeftMs = Math.min(stepDeadline(turn.state), turn.state.contract.totalTimeoutMs) - turn.state.elapsedMs;
  if (timeLeftMs <= 0) return stopActing(skip(turn, calls));
  const firstAllowed = calls.findIndex((call) => whyNotNow(turn.state, call) === null);
  const first = calls[firstAllowed];
  if (first === undefined) return stopActing(refuse(turn, calls));
  const ready = calls.slice(firstAllowed);
  const group = dispatchedTogether(turn.state, first, ready.slice(1));
  const inFlight = shareIdentical(group).map((call) => ({ ...call, timeoutMs: Math.min(call.timeoutMs, timeLeftMs) }));
  const dispatched = inFlight.reduce(dispatch, refuse(turn, calls.slice(0, firstAllowed)));
  return moveTo(dispatched, { to: "OBSERVE", inFlight, waiting: ready.slice(group.length) });
}

function stopActing(turn: Turn): Moved {
  return moveTo(turn, { to: "COMMIT", ending: { kind: "acted" } });
}

function skip(turn: Turn, calls: readonly ReadyCall[]): Turn {
  return update(turn, { skipped: [...turn.state.skipped, ...calls.map((call) => call.callId)] });
}

/** Calls that were validated but may no longer be made: the model is told, and COMMIT records them as skipped. */
function refuse(turn: Turn, calls: readonly ReadyCall[]): Turn {
  return calls.reduce(
    (refused, call) => noteRefusal(refused, call, "policy.denied", whyNotNow(turn.state, call) ?? ""),
    skip(turn, calls),
  );
}

/** Policy may have narrowed since validation; an approval still answers a question, never a denial. */
function whyNotNow(state: RunState, call: ReadyCall): string | null {
  if (call.child !== null && !canAfford(state, call.child.budget)) return "budget.carved";
  if (isForbiddenPair(state.contract, state.lastTool, call.tool)) return "contract.cycle.forbidden-pair";
  const { decision, policyId } = decideNow(state, call);
  if (decision === "allow" || (decision === "approve" && call.approvalId !== null)) return null;
  return policyId;
}

/** The leading calls that may overlap; at least the first one. Delegated budgets must be affordable together. */
function dispatchedTogether(state: RunState, first: ReadyCall, others: readonly ReadyCall[]): readonly ReadyCall[] {
  const group = [first];
  let committed = debit(state, first);
  for (const call of others) {
    if (!mayOverlap(first, call) || whyNotNow(committed, call) !== null) break;
    group.push(call);
    committed = debit(committed, call);
  }
  return group;
}

function mayOverlap(a: ReadyCall, b: ReadyCall): boolean {
  if (a.child !== null || b.child !== null) return a.child !== null && b.child !== null;
  return a.idempotency === "read_only" && b.idempotency === "read_only";
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
  return emit(record(debited, "EXECUTE", decided), dispatchCommand(call));
}

/** A child's budget leaves the parent's when it is spawned; what it did not use comes back when it ends. */
function debit(state: RunState, { child }: ReadyCall): RunState {
  if (child === null) return state;
  const { budget } = state;
  return {
    ...state,
    budget: {
      ...budget,
      inferences: budget.inferences + child.budget.inferences,
      tokens: budget.tokens + child.budget.tokens,
      spendMicrousd: budget.spendMicrousd + child.budget.spendMicrousd,
    },
  };
}
