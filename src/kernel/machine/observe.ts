/**
 * OBSERVE: record the results of the dispatched calls.
 *
 * 1. Results enter in dispatch order; a result for any other call than the next one is ignored.
 * 2. Every dispatched call gets exactly one OBSERVE entry: its result, its timeout, `unknown`, or abandoned.
 * 3. An effect that is being stopped may still report during a grace period, and its report is recorded;
 *    silence is recorded as unknown. The run does not wait for read-only calls.
 *    Every entry that leaves open whether an effect happened states so as an error.
 * 4. An opaque effect in doubt is never repeated automatically: the run parks until a person says what happened.
 * 5. A call whose approval expires before it is dispatched is not made.
 * 6. A call that a person lets be tried again is planned again first. The same plan runs. Another one is asked about: an
 *    approval is bound to its plan, and the first attempt may have changed what the plan is about. After the answer the
 *    call is planned once more, so that what runs is what was approved. If it is not tried again, its effect is unknown.
 */
import { UNKNOWN_EFFECT } from "../journal/entry.ts";
import type { CarvedBudget, EventOf, RunEvent } from "../journal/event.ts";
import { isConsistentResponse, usagesOf } from "../journal/event.ts";
import { Defect } from "../vocabulary/defect.ts";
import type { ErrorCode } from "../vocabulary/error-code.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import { CLEAN_LABELS } from "../vocabulary/labels.ts";
import { isHarmless, isRepeatable } from "./call-promise.ts";
import { hasChange } from "./changes.ts";
import { interruptionOf, isDue } from "./deadline.ts";
import { decideNow } from "./decide-now.ts";
import { resolutionQuestion, retryCommand } from "./outstanding.ts";
import { notePerformed, type PerformedResult, STATEMENT_TOKENS } from "./result.ts";
import type { CallInFlight, Phase, ReadyCall, Retry, Stopping } from "./state.ts";
import { charge, emit, fail, type Moved, type MoveTo, moveTo, record, type Turn, update, wait } from "./turn.ts";

type Observing = Extract<Phase, { at: "OBSERVE" }>;

export function enterObserve(turn: Turn, { inFlight, waiting }: MoveTo<"OBSERVE">): Moved {
  const dispatchedMs = turn.state.elapsedMs;
  return wait(
    update(turn, { phase: { at: "OBSERVE", inFlight, waiting, dispatchedMs, stopping: null, resolving: false } }),
  );
}

export function handleInObserve(turn: Turn, phase: Observing, event: RunEvent): Moved | null {
  const next = phase.inFlight[0];
  if (next === undefined) throw new Defect("OBSERVE waits for no call");
  const interruption = interruptionOf(turn.state, event);
  if (interruption !== null) return stop(turn, phase, next, event, interruption);
  if (event.type === "timer.fired") return handleTimer(turn, phase, next, event);
  if (event.type === "calls.planned") return handleRetryPlan(turn, phase, next, event);
  if (event.type === "approval.decided") {
    return handleRetryAnswer(turn, phase, next, event) ?? handleExpiry(turn, phase, event);
  }
  if (!("callId" in event) || event.callId !== next.callId) return null;
  switch (event.type) {
    case "tool.finished":
      return next.child === null ? finishCall(paid(turn, event), phase, next, event) : null;
    case "child.finished":
      if (next.child?.runId !== event.childRunId) return null;
      return finishCall(credit(turn, next.child.budget, event.spent), phase, next, event);
    case "tool.malformed":
      return next.child === null ? failMalformed(turn, phase, next, event) : null;
    case "effect.unknown":
      return handleUnknown(turn, phase, next, event);
    case "effect.resolved":
      return phase.resolving && phase.retry === undefined ? handleResolution(turn, phase, next, event) : null;
    default:
      return null;
  }
}

function handleExpiry(turn: Turn, phase: Observing, event: EventOf<"approval.decided">): Moved | null {
  const { decision, approvalId, callId } = event;
  const index = phase.waiting.findIndex((call) => call.callId === callId && call.approvalId === approvalId);
  const call = phase.waiting[index];
  if (decision !== "expired" || call === undefined || call.hasLapsed) return null;
  return wait(update(turn, { phase: { ...phase, waiting: phase.waiting.with(index, { ...call, hasLapsed: true }) } }));
}

type Finished = EventOf<"tool.finished"> | EventOf<"child.finished">;

/** Its output may have been summarised. */
function paid(turn: Turn, event: EventOf<"tool.finished">): Turn {
  return usagesOf(event).reduce(charge, turn);
}

function finishCall(turn: Turn, phase: Observing, call: CallInFlight, event: Finished): Moved {
  const { maxBytesPerCall } = turn.state.contract.toolOutputBudget;
  const isSound = isConsistentResponse(event.response) && event.response.outputBytes <= maxBytesPerCall;
  if (!isSound) return failMalformed(turn, phase, call, event);
  return proceed(observe(notePerformed(turn, call, event), call, event), phase);
}

function failMalformed(turn: Turn, phase: Observing, call: CallInFlight, event: RunEvent): Moved {
  const failed = notePerformed(turn, call, failedResult("internal.error"));
  const observed = isHarmless(call) ? observe(failed, call, event) : observeUnknown(failed, call, event);
  const isAlone = phase.inFlight.length === 1;
  return endEarly(isAlone ? observed : emit(observed, { type: "stop-work" }), phase, "tool.malformed-result");
}

/** Waits for the grace period if a call in flight may act on the world; otherwise ends at once. */
function stop(turn: Turn, phase: Observing, next: CallInFlight, event: RunEvent, reason: FailureReason): Moved | null {
  if (phase.stopping !== null && phase.stopping.reason !== "tool.timeout") return null;
  const stopped = emit(turn, { type: "stop-work" });
  // After a restore no process is left that could still report; a child may.
  if (reason === "run.restored" && next.child === null) {
    return endEarly(abandonCalls(stopped, [next]), phase, reason);
  }
  if (phase.resolving) return endEarly(observeUnknown(stopped, next, event), phase, reason);
  if (isHarmless(next)) return endEarly(observe(stopped, next, event), phase, reason);
  const sinceMs = turn.state.elapsedMs;
  return wait(update(stopped, { phase: { ...phase, stopping: { reason, sinceMs } } }));
}

function handleTimer(turn: Turn, phase: Observing, call: CallInFlight, event: EventOf<"timer.fired">): Moved | null {
  if (!isDue(turn.state, event.timer)) return null;
  if (event.timer === "tool" && !isHarmless(call)) {
    const stopping: Stopping = { reason: "tool.timeout", sinceMs: turn.state.elapsedMs };
    return wait(emit(update(turn, { phase: { ...phase, stopping } }), { type: "stop-work" }));
  }
  // No report by the end of the grace period is not a timeout: whether the effect happened is unknown.
  const isTimeout = event.timer === "tool";
  const code = isTimeout ? "timeout" : "internal.error";
  const noted = notePerformed(inDoubt(turn, call), call, failedResult(code));
  const timedOut = isTimeout ? observe(noted, call, event) : observeUnknown(noted, call, event);
  // `stop-work` stops everything in flight: one late read must not stop the calls beside it.
  const mustStop = isTimeout && phase.inFlight.length === 1;
  return proceed(mustStop ? emit(timedOut, { type: "stop-work" }) : timedOut, phase);
}

function handleUnknown(
  turn: Turn,
  phase: Observing,
  call: CallInFlight,
  event: EventOf<"effect.unknown">,
): Moved | null {
  if (phase.resolving || call.child !== null) return null;
  if (phase.stopping !== null) {
    const unknown = notePerformed(inDoubt(turn, call), call, failedResult("internal.error"));
    return proceed(observeUnknown(unknown, call, event), phase);
  }
  // A repeatable call is simply dispatched again.
  if (isRepeatable(call)) return null;
  const parked = update(turn, { phase: { ...phase, resolving: true } });
  return wait(emit(parked, resolutionQuestion(turn.state, call)));
}

function handleResolution(turn: Turn, phase: Observing, call: CallInFlight, event: EventOf<"effect.resolved">): Moved {
  const { decision, tokens } = event;
  switch (decision) {
    case "done":
      return proceed(observe(notePerformed(turn, call, { ...DONE, tokens }), call, event), phase);
    case "fail":
      return proceed(observe(notePerformed(turn, call, failedResult("internal.error")), call, event), phase);
    case "retry":
      return hasChange(turn.state.contract, "retry.plans-again")
        ? waitForRetry(turn, phase, call, { round: 1, asked: null, approved: null })
        : tryAgain(turn, phase, call, event, call);
    case "expired":
      return endEarly(observeUnknown(turn, call, event), phase, "effect.unresolved");
  }
}

function waitForRetry(turn: Turn, phase: Observing, call: CallInFlight, retry: Retry): Moved {
  return wait(emit(update(turn, { phase: { ...phase, retry } }), retryCommand(turn.state, call, retry)));
}

function handleRetryPlan(
  turn: Turn,
  phase: Observing,
  call: CallInFlight,
  event: EventOf<"calls.planned">,
): Moved | null {
  const { retry } = phase;
  const [now] = event.calls;
  if (retry === undefined || retry.asked !== null || retry.round !== event.round) return null;
  if (now?.callId !== call.callId) throw new Defect("the plan is for another call than is tried again");
  if (now.problem !== null || decideNow(turn.state, now).decision === "deny") return giveUp(turn, phase, call, event);
  if (now.planHash === call.planHash) return tryAgain(turn, phase, call, event, call);
  if (now.planHash !== retry.approved?.planHash) return waitForRetry(turn, phase, call, { ...retry, asked: now });
  const { approvalId } = retry.approved;
  return tryAgain(turn, phase, call, event, { ...now, approvalId, validatedUnder: turn.state.labels });
}

function handleRetryAnswer(
  turn: Turn,
  phase: Observing,
  call: CallInFlight,
  event: EventOf<"approval.decided">,
): Moved | null {
  const { approvalId, callId, planHash, decision } = event;
  const { round, asked } = phase.retry ?? { round: 0, asked: null };
  if (callId !== call.callId || planHash !== asked?.planHash) return null;
  if (decision !== "allow") return giveUp(turn, phase, call, event);
  const used = update(turn, { usedApprovals: [...turn.state.usedApprovals, approvalId] });
  return waitForRetry(used, phase, call, { round: round + 1, asked: null, approved: { planHash, approvalId } });
}

function tryAgain(turn: Turn, phase: Observing, call: CallInFlight, event: RunEvent, again: ReadyCall): Moved {
  return moveTo(observe(turn, call, event), { to: "EXECUTE", calls: [again, ...phase.waiting] });
}

function giveUp(turn: Turn, phase: Observing, call: CallInFlight, event: RunEvent): Moved {
  const noted = notePerformed(inDoubt(turn, call), call, failedResult("internal.error"));
  return proceed(observeUnknown(noted, call, event), phase);
}

/** The next call of the group, the next of the batch, or the end of the turn. */
function proceed(turn: Turn, phase: Observing): Moved {
  const inFlight = phase.inFlight.slice(1);
  // Cancelled children still report, one after the other, and return what they did not spend.
  if (inFlight.length > 0) return wait(update(turn, { phase: { ...phase, inFlight } }));
  const { stopping } = phase;
  if (stopping !== null && stopping.reason !== "tool.timeout") return endEarly(turn, phase, stopping.reason);
  return moveTo(turn, { to: "EXECUTE", calls: phase.waiting });
}

/** The run ends here: other calls in flight are abandoned, calls not yet dispatched are skipped (M-P3). */
function endEarly(turn: Turn, phase: Observing, reason: FailureReason): Moved {
  const abandoned = abandonCalls(turn, phase.inFlight.slice(1));
  const skipped = [...turn.state.skipped, ...phase.waiting.map(({ callId }) => ({ callId, policyId: null }))];
  return fail(update(abandoned, { skipped }), reason);
}

export function abandonCalls(turn: Turn, calls: readonly CallInFlight[]): Turn {
  const result = { type: "call.abandoned" } as const;
  return calls.reduce(
    (given, call) => (isHarmless(call) ? observe(given, call, result) : observeUnknown(given, call, result)),
    turn,
  );
}

type Ending = RunEvent | { readonly type: "call.abandoned" };

function observe(turn: Turn, { callId, planHash, sharedBy }: CallInFlight, result: Ending): Turn {
  return record(turn, "OBSERVE", { callId, planHash, sharedBy: [...sharedBy] }, { result });
}

/** The call may have taken effect, and its result will not be learned any more. */
function observeUnknown(turn: Turn, call: CallInFlight, result: Ending): Turn {
  if (!hasChange(turn.state.contract, "observe.states-unknown")) return observe(turn, call, result);
  const { callId, planHash, sharedBy } = call;
  return record(turn, "OBSERVE", { callId, planHash, sharedBy: [...sharedBy], error: UNKNOWN_EFFECT }, { result });
}

/** Whether it happened is unknown, so the same plan needs an approval before it runs again. */
function inDoubt(turn: Turn, call: CallInFlight): Turn {
  return isRepeatable(call) ? turn : update(turn, { inDoubt: [...turn.state.inDoubt, call.planHash] });
}

/** An operator attests that it happened; its output is unknown. */
const DONE = { response: { ok: true, outputRef: null, outputBytes: 0, error: null }, labels: CLEAN_LABELS } as const;

function failedResult(code: ErrorCode): PerformedResult {
  const response = { ok: false, outputRef: null, outputBytes: 0, error: { code, messageRef: null } };
  return { response, labels: CLEAN_LABELS, tokens: STATEMENT_TOKENS };
}

function credit(turn: Turn, carved: CarvedBudget, spent: CarvedBudget): Turn {
  const { budget } = turn.state;
  return update(turn, {
    budget: {
      ...budget,
      inferences: budget.inferences - carved.inferences + spent.inferences,
      tokens: budget.tokens - carved.tokens + spent.tokens,
      spendMicrousd: budget.spendMicrousd - carved.spendMicrousd + spent.spendMicrousd,
    },
  });
}
