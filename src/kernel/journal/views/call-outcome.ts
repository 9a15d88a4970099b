/**
 * How one call ended: by the tool's answer, a refusal, a timer, a cancellation, or the end of its turn. The sentence of
 * an error is fixed, so it may be shown to anyone; the tool's own message is behind `messageRef`. `performed` is what
 * the budget counts: a call that the end of its run cut short does not count.
 */
import type { BodyRef, Hash, RunId } from "../../vocabulary/identifiers.ts";
import type { Outcome } from "../../vocabulary/outcome.ts";
import type { DecidedCall, Result } from "../entry.ts";
import type { RecordedResponse } from "../event.ts";
import { isConsistentResponse } from "../event.ts";
import { type Lookup, textOf } from "./body-content.ts";

export interface CallError {
  readonly code: string;
  readonly message: string;
  readonly messageRef: BodyRef | null;
}

export interface CallOutcome {
  /** The event or conclusion that ended it: `tool.finished`, `timer.fired`, `call.refused` … */
  readonly endedBy: string;
  readonly performed: boolean;
  readonly ok: boolean;
  readonly outputRef: BodyRef | null;
  readonly outputBytes: number;
  readonly truncated: boolean;
  readonly durationMs: number;
  readonly error: CallError | null;
  readonly child: { readonly runId: RunId; readonly outcome: Outcome; readonly headHash: Hash } | null;
}

export function refusedOutcome({ refusal }: DecidedCall): CallOutcome {
  const { code, message, messageRef } = refusal ?? { code: "policy.denied", message: "", messageRef: null };
  return notPerformed("call.refused", { code, message: message || "Not run: the call was refused.", messageRef });
}

/** Validated, but never dispatched: a rule refused it meanwhile, or (null) the turn ended first. */
export function skippedOutcome(policyId: string | null): CallOutcome {
  const code = policyId === null ? "invalid.request" : "policy.denied";
  return notPerformed("call.skipped", because(code, `Not run: ${whySkipped(policyId)}.`));
}

function whySkipped(policyId: string | null): string {
  if (policyId === null) return "the turn ended first";
  if (policyId === "approval.expired") return "its approval expired before its turn came";
  return `policy refused it before its turn came (${policyId})`;
}

export function abandonedOutcome(): CallOutcome {
  return notPerformed("call.abandoned", because("internal.error", "The run ended before the call answered."));
}

export function observedOutcome(result: Result): CallOutcome {
  switch (result?.type) {
    case "tool.finished":
      return answered(result.type, result.response, null);
    case "child.finished": {
      const { childRunId, outcome, headHash } = result;
      return answered(result.type, result.response, { runId: childRunId, outcome, headHash });
    }
    case "tool.malformed":
      return performed(result.type, MALFORMED);
    case "effect.unknown":
      return unknownOutcome();
    case "effect.resolved": {
      if (result.decision === "done") return performed(result.type, null);
      const unconfirmed = because(
        "internal.error",
        "The call was interrupted, and no one confirmed that it took effect.",
      );
      return result.decision === "fail" ? performed(result.type, unconfirmed) : notPerformed(result.type, unconfirmed);
    }
    case "timer.fired": {
      if (result.timer === "grace") return unknownOutcome();
      const late = because("timeout", "The tool did not answer in time.");
      const endsRun = result.timer === "step" || result.timer === "run";
      return endsRun ? notPerformed(result.type, late) : performed(result.type, late);
    }
    case "cancel.requested":
      return notPerformed(result.type, because("invalid.request", "The run was cancelled."));
    default:
      return abandonedOutcome();
  }
}

function unknownOutcome(): CallOutcome {
  return performed("effect.unknown", because("internal.error", "It is unknown whether the call took effect."));
}

export function shownError({ error }: CallOutcome, lookup: Lookup): { code: string; message: string } | null {
  return error && { code: error.code, message: textOf(error.messageRef, lookup) ?? error.message };
}

const NOTHING = { outputRef: null, outputBytes: 0, truncated: false, durationMs: 0, child: null } as const;
const MALFORMED = because("internal.error", "The tool's answer is not a valid envelope.");

function performed(endedBy: string, error: CallError | null): CallOutcome {
  return { ...NOTHING, endedBy, performed: true, ok: error === null, error };
}

function notPerformed(endedBy: string, error: CallError): CallOutcome {
  return { ...NOTHING, endedBy, performed: false, ok: false, error };
}

function because(code: string, message: string): CallError {
  return { code, message, messageRef: null };
}

function answered(endedBy: string, response: RecordedResponse, child: CallOutcome["child"]): CallOutcome {
  if (!isConsistentResponse(response)) return { ...performed(endedBy, MALFORMED), child };
  const { ok, outputRef, outputBytes, truncated, durationMs, error } = response;
  const shown = error && { code: error.code, message: "The tool failed.", messageRef: error.messageRef };
  return { endedBy, performed: true, ok, outputRef, outputBytes, truncated, durationMs, error: shown, child };
}
