/** The people around a run: who allows, denies, stays silent or cannot be reached, and what they say of a lost effect. */
import type { EventOf } from "../../src/kernel/journal/event.ts";
import type { CallId, Hash } from "../../src/kernel/vocabulary/identifiers.ts";
import { derive } from "./random.ts";
import type { World } from "./world.ts";

export interface OperatorReply<Decision> {
  readonly afterMs: number;
  readonly decision: Decision;
}

export function approvalReply(
  { seed, operator }: World,
  turn: number,
  callId: CallId,
  planHash: Hash,
): OperatorReply<EventOf<"approval.decided">["decision"]> {
  const random = derive(seed, "approval", turn, callId, planHash);
  const afterMs = random.between(100, 60_000);
  switch (operator) {
    case "allows":
      return { afterMs, decision: "allow" };
    case "denies":
      return { afterMs, decision: "deny" };
    case "wavers":
      return { afterMs, decision: random.pick(["allow", "deny"]) };
    case "silent":
      return { afterMs: 900_000, decision: "expired" };
    case "unreachable":
      return { afterMs: 0, decision: "unreachable" };
  }
}

/** Truthful: only what happened is called done; and some try again even so. */
export function resolutionReply(
  { seed, operator }: World,
  turn: number,
  callId: CallId,
  happened: boolean,
): OperatorReply<EventOf<"effect.resolved">["decision"]> {
  const random = derive(seed, "resolution", turn, callId);
  if (operator === "silent" || operator === "unreachable") return { afterMs: 900_000, decision: "expired" };
  const afterMs = random.between(100, 60_000);
  const choice = random.weigh({ truth: 60, retry: 40 });
  return { afterMs, decision: choice === "retry" ? "retry" : happened ? "done" : "fail" };
}
