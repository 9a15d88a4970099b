/**
 * May this call be run, as things stand now? Contract ∩ live policy, with the labels seen so far.
 *
 * N1. An approval answers a question, never a denial.
 * N2. It was given for what the run had seen by then: once the latch has closed since, it no longer counts.
 *     Nor does it once its time is over.
 * N3. A plan whose effect is in doubt is not repeated without asking, whatever policy allows.
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

/** The rule that stands against running a validated call after all, or null. */
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
