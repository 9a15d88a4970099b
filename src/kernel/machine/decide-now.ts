/** Policy's word on one call, as things stand now: contract ∩ live policy, with the labels seen so far. */
import type { PlannedCall } from "../journal/event.ts";
import { decideUnder, type PolicyDecision } from "../policy/decide-call.ts";
import { type RunState, toolsOf } from "./state.ts";

export function decideNow(state: RunState, { tool, risk, egress, honeypot }: PlannedCall): PolicyDecision {
  const { labels, live, contract } = state;
  const { policy, capabilities, channelClass, approvedTools } = contract;
  const allowedTools = toolsOf(state);
  return decideUnder(
    { tool, risk, egress, honeypot, channelClass, policy, capabilities, labels, approvedTools, allowedTools },
    live,
  );
}
