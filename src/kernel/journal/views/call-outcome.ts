/**
 * How one call ended: by the tool's answer, a refusal, a timer, a cancellation, or the end of its turn. The sentence of
 * an error is fixed, so it may be shown to anyone; the tool's own message is behind `messageRef`. `performed` is what
 * the budget counts: a call that the end of its run cut short does not count.
 */
import type { BodyRef, Hash, RunId } from "../../vocabulary/identifiers.ts";
import type { Labels } from "../../vocabulary/labels.ts";
import type { Outcome } from "../../vocabulary/outcome.ts";
import type { StatementOf } from "../chain.ts";
import { type DecidedCall, type Result, UNKNOWN_EFFECT, type UnknownEffect } from "../entry.ts";
import type { RecordedResponse } from "../event.ts";
import { isConsistentResponse } from "../event.ts";
import { contentOf, type Lookup, textOf } from "./body-content.ts";

export interface CallError {
  readonly code: string;
  readonly message: string;
  readonly messageRef: BodyRef | null;
  readonly retryable: boolean;
  /** What is known without a body; the tool's own details are behind `detailsRef`. */
  readonly details: { readonly outcome?: "unknown" };
  readonly detailsRef: BodyRef | null;
}

/** The call was cut off, and a person lets it be tried again: this attempt has no result. */
export function isTriedAgain({ result, decided }: Pick<StatementOf<"OBSERVE">, "result" | "decided">): boolean {
  if (result?.type === "effect.resolved") return result.decision === "retry";
  return result?.type === "calls.planned" && decided.error === undefined;
}

export interface CallOutcome {
  /** The event or conclusion that ended it: `tool.finished`, `timer.fired`, `call.refused` … */
  readonly endedBy: string;
  readonly performed: boolean;
  readonly ok: boolean;
  readonly outputRef: BodyRef | null;
  readonly outputBytes: number;
  readonly truncated: boolean;
  /** Of what it answered. */
  readonly labels?: Labels;
  readonly durationMs: number;
  readonly error: CallError | null;
  /** The rule that refused a call that was not made; null if none did. */
  readonly refusedBy: string | null;
  readonly child: { readonly runId: RunId; readonly outcome: Outcome; readonly headHash: Hash } | null;
}

export function refusedOutcome({ refusal, policyId }: DecidedCall): CallOutcome {
  const { code, message, messageRef } = refusal ?? { code: "policy.denied", message: "", messageRef: null };
  const error = { ...because(code, message || "Not run: the call was refused."), messageRef };
  return { ...notPerformed("call.refused", error), refusedBy: policyId };
}

/** The rule by which a turn makes only so many read-only calls. */
export const TURN_LIMIT = "governance.turn-limit";

/** Validated, but never dispatched: a rule refused it meanwhile, or (null) the turn ended first. */
export function skippedOutcome(policyId: string | null): CallOutcome {
  const code = policyId === null || policyId === TURN_LIMIT ? "invalid.request" : "policy.denied";
  return { ...notPerformed("call.skipped", because(code, `Not run: ${whySkipped(policyId)}.`)), refusedBy: policyId };
}

function whySkipped(policyId: string | null): string {
  if (policyId === null) return "the turn ended first";
  if (policyId === TURN_LIMIT) return "this turn has made its read-only calls; propose it again if you still need it";
  if (policyId === "approval.expired") return "its approval expired before its turn came";
  return `policy refused it before its turn came (${policyId})`;
}

export function abandonedOutcome(): CallOutcome {
  return notPerformed("call.abandoned", because("internal.error", "The run ended before the call answered."));
}

/** `unknown` is the error that the entry states if what became of the effect is not known. */
export function observedOutcome(result: Result, unknown?: UnknownEffect): CallOutcome {
  const outcome = outcomeOf(result);
  if (unknown === undefined) return outcome;
  if (result?.type === "calls.planned" || result?.type === "approval.decided") {
    return performed(result.type, { ...NOT_TRIED_AGAIN, ...unknown });
  }
  const told = outcome.error?.message === MALFORMED.message ? MALFORMED : UNKNOWN;
  return { ...outcome, error: { ...told, ...unknown } };
}

function outcomeOf(result: Result): CallOutcome {
  switch (result?.type) {
    case "tool.finished":
      return answered(result.type, result, null);
    case "child.finished": {
      const { childRunId, outcome, headHash } = result;
      return answered(result.type, result, { runId: childRunId, outcome, headHash });
    }
    case "tool.malformed":
      return performed(result.type, MALFORMED);
    case "effect.unknown":
      return unknownOutcome();
    case "calls.planned":
      return notPerformed(result.type, UNCONFIRMED);
    case "effect.resolved": {
      if (result.decision === "done") return performed(result.type, null);
      if (result.decision === "expired") return notPerformed(result.type, UNKNOWN);
      return result.decision === "fail" ? performed(result.type, UNCONFIRMED) : notPerformed(result.type, UNCONFIRMED);
    }
    case "timer.fired": {
      if (result.timer === "grace") return unknownOutcome();
      const late = { ...because("timeout", "The tool did not answer in time."), retryable: true };
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
  return performed("effect.unknown", UNKNOWN);
}

/** The error as O-1.3 has it. */
export interface ShownError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Record<string, unknown>;
}

/** What the model reads. A person reads `explainCall`. */
export function shownError({ error }: CallOutcome, lookup: Lookup): ShownError | null {
  if (error === null) return null;
  const { code, retryable, messageRef, detailsRef } = error;
  const told = detailsRef === null ? null : contentOf(detailsRef, lookup);
  const details = { ...error.details, ...(typeof told === "object" ? told : null) };
  return { code, message: textOf(messageRef, lookup) ?? error.message, retryable, details };
}

const NOTHING = {
  outputRef: null,
  outputBytes: 0,
  truncated: false,
  durationMs: 0,
  refusedBy: null,
  child: null,
} as const;
const MALFORMED = because("internal.error", "The tool's answer is not a valid envelope.");
const UNCONFIRMED = because("internal.error", "The call was interrupted, and no one confirmed that it took effect.");
const NOT_TRIED_AGAIN = because(
  "internal.error",
  "The call was cut off, and it is unknown whether it took effect. It was not tried again, because what it would do has changed since and was not allowed.",
);
const UNKNOWN = { ...because("internal.error", "It is unknown whether the call took effect."), ...UNKNOWN_EFFECT };

function performed(endedBy: string, error: CallError | null): CallOutcome {
  return { ...NOTHING, endedBy, performed: true, ok: error === null, error };
}

function notPerformed(endedBy: string, error: CallError): CallOutcome {
  return { ...NOTHING, endedBy, performed: false, ok: false, error };
}

function because(code: string, message: string): CallError {
  return { code, message, messageRef: null, retryable: false, details: {}, detailsRef: null };
}

function answered(
  endedBy: string,
  { response, labels }: { readonly response: RecordedResponse; readonly labels: Labels },
  child: CallOutcome["child"],
): CallOutcome {
  if (!isConsistentResponse(response)) return { ...performed(endedBy, MALFORMED), child };
  const { ok, outputRef, outputBytes, truncated, durationMs, error } = response;
  const shown = error && {
    ...because(error.code, "The tool failed."),
    messageRef: error.messageRef,
    retryable: error.retryable,
    detailsRef: error.detailsRef ?? null,
  };
  return {
    ...NOTHING,
    endedBy,
    performed: true,
    ok,
    outputRef,
    outputBytes,
    truncated,
    labels,
    durationMs,
    error: shown,
    child,
  };
}
