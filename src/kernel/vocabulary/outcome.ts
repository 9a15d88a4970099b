/** The ten typed outcomes (M-4.5): disjoint, and the only way a run ends. */
export const OUTCOMES = [
  "COMPLETED_WITH_TOOLS",
  "COMPLETED_CHAT_ONLY",
  "FAILED_PREFLIGHT",
  "FAILED_PROTOCOL_NO_TOOLS",
  "FAILED_PROTOCOL_MALFORMED",
  "FAILED_VALIDATION",
  "FAILED_BUDGET_EXHAUSTED",
  "FAILED_TIMEOUT",
  "FAILED_CONTRACT_VIOLATION",
  "INTERRUPTED",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

export type TerminalStatus = "completed" | "failed" | "cancelled";

export function terminalStatus(outcome: Outcome): TerminalStatus {
  if (outcome.startsWith("COMPLETED_")) return "completed";
  return outcome === "INTERRUPTED" ? "cancelled" : "failed";
}
