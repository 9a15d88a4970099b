/**
 * The open commands of a waiting run, as a function of its state.
 *
 * States emit them when they begin to wait; after a crash the driver asks for them again. An opaque effect in flight
 * is the exception: it is never repeated automatically; the driver feeds `effect.unknown` instead.
 */
import { hashCanonical } from "../vocabulary/hash.ts";
import type { CallId } from "../vocabulary/identifiers.ts";
import { asCallId } from "../vocabulary/identifiers.ts";
import { isRepeatable } from "./call-promise.ts";
import type { Command } from "./command.ts";
import { objectionNow } from "./decide-now.ts";
import { type CallInFlight, offeredTools, type Phase, type Retry, type RunState } from "./state.ts";

type PhaseAt<At extends Phase["at"]> = Extract<Phase, { at: At }>;

export function outstandingCommands(state: RunState): readonly Command[] {
  const { phase, restored } = state;
  if (restored?.isOpen && phase.at !== "TERMINATE") return [restoreQuestion(state, restored.id)];
  switch (phase.at) {
    case "PRECHECK":
      return state.accepted === null ? [] : [{ type: "check-backend" }];
    case "INFER":
      return [inferCommand(state, phase)];
    case "VALIDATE_CALLS":
      return validationCommands(state, phase);
    case "OBSERVE":
      return observationCommands(state, phase);
    case "TERMINATE":
      return [];
  }
}

export function inFlightCall({ phase }: RunState, callId: CallId): CallInFlight | undefined {
  return phase.at === "OBSERVE" ? phase.inFlight.find((call) => call.callId === callId) : undefined;
}

/** Opaque effects with a recorded intent and no result. */
export function effectsInDoubt({ phase, restored }: RunState): readonly CallInFlight[] {
  if (restored?.isOpen) return [];
  return phase.at === "OBSERVE" && !phase.resolving ? phase.inFlight.filter((call) => !isRepeatable(call)) : [];
}

export function inferCommand(state: RunState, phase: PhaseAt<"INFER">): Command {
  const { head: promptHead } = state.prompt;
  if (phase.compacting) return { type: "compact", step: state.step, promptHead, targetTokens: compactionTarget(state) };
  const { attempt, mode, maxOutputTokens, constraintHash } = phase;
  const delayMs = Math.max(0, phase.notBeforeMs - state.elapsedMs);
  const tools = offeredTools(state, mode);
  return { type: "call-model", attempt, mode, promptHead, maxOutputTokens, tools, constraintHash, delayMs };
}

/** The open questions; without any, the plan. */
export function validationCommands(state: RunState, phase: PhaseAt<"VALIDATE_CALLS">): readonly Command[] {
  const { step } = state;
  const questions = (phase.planned ?? []).flatMap(({ callId, planHash }, index): readonly Command[] => {
    const verdict = phase.verdicts[index];
    if (verdict?.kind !== "asking") return [];
    const why = `${verdict.policyId}: ${verdict.why}`;
    return [{ type: "ask-approval", step, kind: "approve", callId, planHash, why, labels: state.labels }];
  });
  return questions.length > 0 ? questions : [{ type: "plan-calls", step, round: phase.round, calls: phase.proposed }];
}

export function dispatchCommand({ step }: RunState, call: CallInFlight): Command {
  const { callId, tool, argsRef, planHash, idempotencyKey, approvalId, timeoutMs, child } = call;
  if (child !== null) return { type: "spawn-child", step, callId, argsRef, child };
  return { type: "run-tool", step, callId, tool, argsRef, planHash, idempotencyKey, approvalId, timeoutMs };
}

export function resolutionQuestion(state: RunState, { callId, planHash }: CallInFlight): Command {
  const why = "interrupted before it was known whether this happened";
  return { type: "ask-approval", step: state.step, kind: "resolve", callId, planHash, why, labels: state.labels };
}

/** Plans the interrupted call again, or asks about its other plan. */
export function retryCommand({ step, labels }: RunState, call: CallInFlight, { round, asked }: Retry): Command {
  const { callId, tool, argsRef } = call;
  if (asked === null) return { type: "plan-calls", step, round, calls: [{ callId, tool, argsRef }] };
  const { planHash } = asked;
  return { type: "ask-approval", step, kind: "approve", isRetry: true, callId, planHash, why: WHY_ASKED_AGAIN, labels };
}

const WHY_ASKED_AGAIN =
  "effect.retry-changed: The first attempt was cut off, and what it did is unknown. What a retry would do has changed since: check before you allow it.";

export function restoreQuestion({ step, labels, chain }: RunState, restoreId: string): Command {
  const planHash = hashCanonical(["run.restored", chain.frame.runId, restoreId]);
  const why = "the home was restored from a backup, and this run may have gone on after the backup was taken";
  return { type: "ask-approval", step, kind: "resolve", aboutRun: true, callId: WHOLE_RUN, planHash, why, labels };
}

const WHOLE_RUN = asCallId("run");

function observationCommands(state: RunState, phase: PhaseAt<"OBSERVE">): readonly Command[] {
  const [first] = phase.inFlight;
  if (first !== undefined && phase.retry !== undefined) return [retryCommand(state, first, phase.retry)];
  if (first !== undefined && phase.resolving) return [resolutionQuestion(state, first)];
  if (phase.stopping !== null) return [{ type: "stop-work" }];
  return phase.inFlight
    .filter((call) => isRepeatable(call) && (call.child !== null || objectionNow(state, call) === null))
    .map((call) => dispatchCommand(state, call));
}

function compactionTarget({ contract }: RunState): number {
  const { contextWindow, reservedSystem } = contract.contextBudget;
  return Math.floor((contextWindow - reservedSystem) / 2);
}
