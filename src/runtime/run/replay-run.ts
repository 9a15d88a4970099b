/**
 * Replay: a recorded run once more, from its entries alone: no network, no tool, no clock.
 *
 * Y1. The recorded events are the only input; the same machine must come to the same entries, hash by hash.
 * Y2. What-if asks another policy about the calls that were proposed, where they stood: with the labels and the live
 *     capabilities of that moment. It never guesses what a model would have done instead.
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
  /** The first entry that came out otherwise. */
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
  /** What was decided then: `deny` where it was refused, whoever refused it. */
  readonly recorded: "allow" | "deny";
  readonly now: PolicyVerdict;
  readonly policyId: string;
}

/** The recorded calls that another policy would decide otherwise. */
export function whatIf(
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
      const then = decideUnder(questionOf(contract, entry, plan), live);
      const { capabilities } = live ?? contract;
      const { decision: now, policyId } = decideCall({ ...questionOf(contract, entry, plan), policy, capabilities });
      // What a person decided then, or the rest of the batch, a policy that asks again leaves as it was.
      if (now === call.decision || now === then.decision) return [];
      return [{ entry: entry.seq, callId: call.callId, tool: call.tool, recorded: call.decision, now, policyId }];
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
