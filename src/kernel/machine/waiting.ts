/** The event a run waits for. A parked run holds no worker, no lane and no memory until its event arrives. */
import type { RunState } from "./state.ts";

export type Waiting =
  | "backend"
  | "compaction"
  | "model"
  | "plan"
  | "approval"
  | "tools"
  | "resolution"
  | "children"
  | "nothing";

export function waitingFor({ phase, restored }: RunState): Waiting {
  if (restored?.isOpen && phase.at !== "TERMINATE") return "resolution";
  switch (phase.at) {
    case "PRECHECK":
      return "backend";
    case "INFER":
      return phase.compacting ? "compaction" : "model";
    case "VALIDATE_CALLS":
      return phase.verdicts.some((verdict) => verdict.kind === "asking") ? "approval" : "plan";
    case "OBSERVE":
      if (phase.retry !== undefined) return phase.retry.asked === null ? "plan" : "approval";
      if (phase.resolving) return "resolution";
      return phase.inFlight[0]?.child ? "children" : "tools";
    case "TERMINATE":
      return "nothing";
  }
}

export function isParked(state: RunState): boolean {
  const waiting = waitingFor(state);
  return waiting === "approval" || waiting === "resolution" || waiting === "children";
}
