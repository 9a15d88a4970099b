import { expect, test } from "vitest";
import { OUTCOMES, terminalStatus } from "../../../src/kernel/vocabulary/outcome.ts";

test("there are ten outcomes, each with one terminal status", () => {
  expect(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, terminalStatus(outcome)]))).toEqual({
    COMPLETED_WITH_TOOLS: "completed",
    COMPLETED_CHAT_ONLY: "completed",
    FAILED_PREFLIGHT: "failed",
    FAILED_PROTOCOL_NO_TOOLS: "failed",
    FAILED_PROTOCOL_MALFORMED: "failed",
    FAILED_VALIDATION: "failed",
    FAILED_BUDGET_EXHAUSTED: "failed",
    FAILED_TIMEOUT: "failed",
    FAILED_CONTRACT_VIOLATION: "failed",
    INTERRUPTED: "cancelled",
  });
  expect(OUTCOMES.length).toBe(10);
});
