/**
 * May this call be run now? Contract ∩ live policy, with the labels so far. An approval answers a question, never a
 * denial, and covers the labels at the time it was given: once the latch closes, it no longer counts. A plan whose
 * effect is in doubt always asks before it is repeated.
 */
import type { PlannedCall } from "../journal/event.ts";
import { decideUnder, type PolicyDecision, type PolicyQuestion } from "../policy/decide-call.ts";
import { type DecisionExplanation, explainDecision } from "../policy/explain-decision.ts";
import { isLatched } from "../vocabulary/labels.ts";
import { type ReadyCall, type RunState, toolsOf } from "./state.ts";

export function decideNow(state: RunState, call: PlannedCall): PolicyDecision {
  const decided = decideUnder(questionOf(state, call), state.live);
  return decided.decision === "allow" && state.inDoubt.includes(call.planHash) ? IN_DOUBT : decided;
}

/** The decision of `decideNow`, for the person who is asked. */
export function explainNow(state: RunState, call: PlannedCall): DecisionExplanation {
  return explainDecision(questionOf(state, call), state.live, decideNow(state, call));
}

/** Under the contract alone. */
function questionOf(state: RunState, call: PlannedCall): PolicyQuestion {
  const { tool, risk, egress, honeypot, asksAlways = false } = call;
  const { policy, capabilities, channelClass, approvedTools } = state.contract;
  return {
    ...{ tool, risk, egress, honeypot, asksAlways },
    ...{ channelClass, policy, capabilities, labels: state.labels, approvedTools, allowedTools: toolsOf(state) },
  };
}

/** The rule that now refuses a validated call, or null. */
export function objectionNow(state: RunState, call: ReadyCall): string | null {
  if (call.hasLapsed) return "approval.expired";
  const { decision, policyId } = decideNow(state, call);
  if (decision === "allow") return null;
  if (decision === "deny" || call.approvalId === null) return policyId;
  return isLatched(state.labels) && !isLatched(call.validatedUnder) ? "policy.latch" : null;
}

/** The reason a person reads. Not `reason`, which journals record with a refusal and which therefore never changes. */
export function whyAsked(policyId: string, { tool, risk }: Pick<PlannedCall, "tool" | "risk">): string {
  if (policyId.startsWith("policy.exception.")) return "An exception in tools.policy.exceptions asks before this call.";
  const why = WHY_ASKED[policyId];
  if (why !== undefined) return why;
  if (risk === "read_only") return "Your policy asks before anything is read.";
  if (risk === "draft_only") return "This writes a draft, so your policy asks first.";
  if (tool.startsWith("fs.")) return "This changes files, so your policy asks first.";
  if (tool.startsWith("shell.")) return "This runs a command, so your policy asks first.";
  return "This has an effect outside the run, so your policy asks first.";
}

const WHY_ASKED: Readonly<Record<string, string>> = {
  "policy.asks-always":
    "This may start other programs, remove whole directories or use a secret, so Surety always asks.",
  "policy.latch":
    "This session has read private and untrusted data, so Surety asks before anything leaves it or changes.",
  "effect.in-doubt": "The same call was cut off, and it may have taken effect: check before you allow it again.",
};

const IN_DOUBT: PolicyDecision = {
  decision: "approve",
  policyId: "effect.in-doubt",
  reason: "The same call was cut off before it was known whether it happened: check before you allow it again.",
};
