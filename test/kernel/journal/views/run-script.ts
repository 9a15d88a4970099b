/** What happens in a scripted run, said as briefly as a test wants to say it. */
import type { CallEnd } from "./canned-events.ts";

export const TOOLS = ["fs.read_text", "fs.write_text", "http.get", "agent.delegate"] as const;

export interface CallScript {
  readonly tool: string;
  /** Equal numbers are equal arguments. */
  readonly arg: number;
  readonly decision: "allow" | "approve" | "deny" | "deny-by-user";
  readonly end: CallEnd;
  /** Answered by the execution of the performed call before it, if there is one. */
  readonly shares: boolean;
}

export interface CallsScript {
  readonly kind: "calls";
  readonly calls: readonly CallScript[];
  /** All executions begin before the first ends. */
  readonly overlaps: boolean;
  /** The model says something beside its calls. */
  readonly says: boolean;
}
export type TurnScript = { readonly kind: "rejected" } | { readonly kind: "unreachable" } | CallsScript;

/** How a run ends; `cut-*` with calls in flight. */
export const RUN_ENDS = [
  "answered",
  "escalated",
  "cancelled-inferring",
  "timed-out-inferring",
  "unavailable",
  "compaction-failed",
  "cut-cancelled",
  "cut-timed-out",
  "cut-expired",
  "cut-defect",
  "cancelled-queued",
  "cancelled-checking",
  "preflight-failed",
] as const;
export type RunEnd = (typeof RUN_ENDS)[number];

export const call = (tool: string, script: Partial<CallScript> = {}): CallScript => ({
  tool,
  arg: 1,
  decision: "allow",
  end: "ok",
  shares: false,
  ...script,
});

export const calls = (...scripts: readonly CallScript[]): CallsScript => ({
  kind: "calls",
  calls: scripts,
  overlaps: false,
  says: false,
});
