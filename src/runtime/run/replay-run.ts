/**
 * Replay: folds a recorded run from its entries alone, without network, tools or clock; the machine must reproduce
 * every hash. What-if applies another policy to the recorded calls, with the labels and live capabilities of that moment;
 * it never guesses what a model would have done instead.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import { type Entry, eventsOf } from "../../kernel/journal/entry.ts";
import type { LivePolicy, PlannedCall } from "../../kernel/journal/event.ts";
import { foldRun } from "../../kernel/machine/fold.ts";
import { decideCall, decideUnder, type PolicyQuestion } from "../../kernel/policy/decide-call.ts";
import type { PolicyVerdict, ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";

export interface Replayed {
  readonly isReproduced: boolean;
  readonly outcome: Outcome | null;
  readonly headHash: Hash;
  /** The first entry that differs. */
  readonly divergedAt: number | null;
}

export function replayRun(runId: RunId, contract: ExecutionContract, entries: readonly Entry[]): Replayed {
  const folded = foldRun(runId, contract, entries);
  const { phase, chain } = folded.state;
  return {
    isReproduced: folded.ok,
    outcome: phase.at === "TERMINATE" ? phase.outcome : null,
    headHash: chain.linked.hash,
    divergedAt: folded.ok ? null : folded.divergedAt,
  };
}

export interface OtherDecision {
  readonly entry: number;
  readonly callId: string;
  readonly tool: string;
  /** The recorded decision: `deny` also where an operator or the rest of the batch refused it. */
  readonly recorded: "allow" | "deny";
  /** What the policy of that moment said. */
  readonly then: PolicyVerdict;
  readonly now: PolicyVerdict;
  readonly policyId: string;
  /** A policy that asks again does not change what an operator, or the rest of the batch, decided then. */
  readonly isChanged: boolean;
}

/** The recorded calls that the policy would decide differently. */
export function whatIf(
  contract: ExecutionContract,
  entries: readonly Entry[],
  policy: ToolPolicy,
): readonly OtherDecision[] {
  return decideAgain(contract, entries, policy).filter(({ isChanged }) => isChanged);
}

/** Every recorded call that was planned, as the policy would decide it. */
export function decideAgain(
  contract: ExecutionContract,
  entries: readonly Entry[],
  policy: ToolPolicy,
): readonly OtherDecision[] {
  let live: LivePolicy | null = null;
  return entries.flatMap((entry) => {
    const events = eventsOf(entry);
    for (const event of events) if (event.type === "policy.narrowed") live = event.live;
    if (entry.kind !== "VALIDATE_CALLS") return [];
    const planned = events.findLast((event) => event.type === "calls.planned")?.calls ?? [];
    return entry.decided.calls.flatMap((call) => {
      const plan = planned.find(({ callId }) => callId === call.callId);
      if (plan === undefined || plan.problem !== null) return [];
      const { decision: then } = decideUnder(questionOf(contract, entry, plan), live);
      const { capabilities } = live ?? contract;
      const { decision: now, policyId } = decideCall({ ...questionOf(contract, entry, plan), policy, capabilities });
      const { callId, tool, decision: recorded } = call;
      const isChanged = now !== recorded && now !== then;
      return [{ entry: entry.seq, callId, tool, recorded, then, now, policyId, isChanged }];
    });
  });
}

function questionOf(contract: ExecutionContract, { labels }: Entry, call: PlannedCall): PolicyQuestion {
  const { tool, risk, egress, honeypot, asksAlways = false } = call;
  const { channelClass, approvedTools, allowedTools, policy, capabilities } = contract;
  return {
    ...{ tool, risk, egress, honeypot, asksAlways },
    ...{ channelClass, policy, capabilities, labels, approvedTools },
    allowedTools: allowedTools ?? [tool],
  };
}
