/**
 * The changes a result makes: counters, labels (which only rise), trail, proof and prompt. A refusal counts for
 * recovery and cycle detection, never as a performed call.
 */
import type { PlannedCall, RecordedResponse } from "../journal/event.ts";
import type { BodyRef, CallId } from "../vocabulary/identifiers.ts";
import { joinLabels, type Labels } from "../vocabulary/labels.ts";
import { hasChange } from "./changes.ts";
import { extendTrail } from "./cycle.ts";
import { afterResult } from "./recovery.ts";
import type { CallInFlight, FailedAttempt, RunState } from "./state.ts";
import { extendPrompt, type Turn, update } from "./turn.ts";

/** An upper bound for the fixed sentences with which the runtime reports a call to the model. */
export const STATEMENT_TOKENS = 64;
/** As many as recovery needs to escalate: two that started it and three more. */
const ATTEMPTS_KEPT = 5;

type Response = Pick<RecordedResponse, "ok" | "outputRef" | "stableRef" | "outputBytes"> & {
  readonly error: Pick<NonNullable<RecordedResponse["error"]>, "code" | "messageRef"> | null;
};

export interface PerformedResult {
  readonly response: Response;
  readonly labels: Labels;
  readonly tokens: number;
}

/** A refused call: the model sees an error, nothing was performed. */
export function noteRefusal(turn: Turn, call: PlannedCall, code: string, policyId: string): Turn {
  const noted = note(turn, call, {
    ok: false,
    result: hasChange(turn.state.contract, "cycle.compares-what-stays") ? code : `${code} ${policyId}`,
    code,
    messageRef: call.problem?.messageRef ?? null,
    outputRef: null,
  });
  return extendPrompt(noted, `${call.callId} ${policyId}`, STATEMENT_TOKENS);
}

export function notePerformed(turn: Turn, call: CallInFlight, { response, labels, tokens }: PerformedResult): Turn {
  const { ok, outputRef, stableRef = outputRef, error } = response;
  const messageRef = error?.messageRef ?? null;
  const told = ok ? (outputRef ?? "done") : `${error?.code} ${messageRef}`;
  const stable = ok ? (stableRef ?? "done") : `${error?.code}`;
  const result = hasChange(turn.state.contract, "cycle.compares-what-stays") ? stable : told;
  const noted = note(turn, call, { ok, result, code: error?.code ?? null, messageRef, outputRef });
  const { budget, effects, labels: before } = noted.state;
  const proven = call.effects.filter((index) => !effects.proven.includes(index));
  const counted = update(noted, {
    labels: joinLabels(before, labels),
    lastTool: call.tool,
    budget: {
      ...budget,
      performed: budget.performed + 1,
      succeeded: budget.succeeded + (ok ? 1 : 0),
      toolOutputBytes: budget.toolOutputBytes + response.outputBytes,
    },
    effects: ok
      ? { ...effects, proven: [...effects.proven, ...proven] }
      : { ...effects, attempted: [...effects.attempted, ...call.effects] },
  });
  return [call.callId, ...call.sharedBy].reduce(
    (extended, callId: CallId) => extendPrompt(extended, `${callId} ${told}`, tokens),
    counted,
  );
}

interface Noted {
  readonly ok: boolean;
  /** Equal strings mean equal results. */
  readonly result: string;
  readonly code: string | null;
  readonly messageRef: BodyRef | null;
  readonly outputRef: BodyRef | null;
}

function note(turn: Turn, call: PlannedCall, { ok, result, code, messageRef, outputRef }: Noted): Turn {
  const { contract, recovery, history, failedAttempts }: RunState = turn.state;
  const { tool, argsRef } = call;
  const failed: readonly FailedAttempt[] = ok ? [] : [{ tool, argsRef, code, messageRef, outputRef }];
  return update(turn, {
    recovery: afterResult(recovery, ok),
    history: extendTrail(contract, history, { call: `${tool} ${argsRef}`, result }, call.pollable),
    failedAttempts: [...failedAttempts, ...failed].slice(-ATTEMPTS_KEPT),
  });
}
