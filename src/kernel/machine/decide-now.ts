/**
 * May this call be run now? Contract ∩ live policy, with the labels so far.
 *
 * N1. An approval answers a question, never a denial.
 * N2. An approval covers the labels at the time it was given: once the latch closes, it no longer counts. An expired
 *     approval does not count either.
 * N3. A plan whose effect is in doubt always asks before it is repeated, even if policy allows the call.
 */
import type { PlannedCall } from "../journal/event.ts";
import { decideUnder, type PolicyDecision } from "../policy/decide-call.ts";
import { isLatched } from "../vocabulary/labels.ts";
import { type ReadyCall, type RunState, toolsOf } from "./state.ts";

export function decideNow(state: RunState, call: PlannedCall): PolicyDecision {
  const { tool, risk, egress, honeypot, asksAlways = false } = call;
  const { labels, live, contract } = state;
  const { policy, capabilities, channelClass, approvedTools } = contract;
  const allowedTools = toolsOf(state);
  const decided = decideUnder(
    {
      ...{ tool, risk, egress, honeypot, asksAlways },
      ...{ channelClass, policy, capabilities, labels, approvedTools, allowedTools },
    },
    live,
  );
  return decided.decision === "allow" && state.inDoubt.includes(call.planHash) ? IN_DOUBT : decided;
}

/** The rule that now refuses a validated call, or null. */
export function objectionNow(state: RunState, call: ReadyCall): string | null {
  if (call.hasLapsed) return "approval.expired";
  const { decision, policyId } = decideNow(state, call);
  if (decision === "allow") return null;
  if (decision === "deny" || call.approvalId === null) return policyId;
  return isLatched(state.labels) && !isLatched(call.seen) ? "policy.latch" : null;
}

const IN_DOUBT: PolicyDecision = {
  decision: "approve",
  policyId: "effect.in-doubt",
  reason: "The same call was cut off before it was known whether it happened: check before you allow it again.",
};
