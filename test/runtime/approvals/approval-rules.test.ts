import { describe, expect, test } from "vitest";
import { asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import {
  checkConsumeApproval,
  checkDecideApproval,
  checkInsertApproval,
  objectionTo,
} from "../../../src/runtime/approvals/approval-rules.ts";
import type { ApprovalState } from "../../../src/runtime/ports/store.ts";
import type { WriteVerdict } from "../../../src/runtime/ports/write-verdict.ts";
import { verifies } from "../../requirements.ts";
import { hashOf, newApproval } from "../store-samples.ts";

const approval = newApproval(asRunId("run_1"), asSessionId("ses_1"));
const STATES: readonly ApprovalState[] = [
  ...(["pending", "allowed", "denied", "expired", "consumed", "done", "retry", "fail"] as const),
];
const codeOf = (verdict: WriteVerdict) => (typeof verdict === "string" ? verdict : verdict.code);

test("an approval is inserted once; another one with its id is a conflict", () => {
  expect(checkInsertApproval(null, approval)).toBe("write");
  expect(checkInsertApproval({ ...approval, state: "denied" }, approval)).toBe("skip");
  expect(codeOf(checkInsertApproval({ ...approval, planHash: hashOf("other") }, approval))).toBe("store.conflict");
  expect(codeOf(checkInsertApproval({ ...approval, runId: asRunId("run_2") }, approval))).toBe("store.conflict");
});

describe("an answer", () => {
  const { planHash, expiresAtMs } = approval;
  const inTime = expiresAtMs - 1;

  verifies("X-12/plan", "to another plan does not count", () => {
    expect(objectionTo(approval, planHash, inTime)).toBeNull();
    expect(objectionTo(approval, hashOf("other"), inTime)).toContain("plan hash");
  });

  verifies("X-12/once", "counts once", () => {
    for (const state of STATES.filter((each) => each !== "pending" && each !== "expired")) {
      const words = state === "consumed" ? "allowed" : state;
      const decided = { ...approval, state, decidedBy: "telegram:7", decidedAtMs: Date.UTC(2026, 0, 2, 13, 5) };
      const objection = `decided already: ${words} by telegram:7 at 2026-01-02 13:05:00 UTC.`;
      expect(objectionTo(decided, planHash, inTime)).toContain(objection);
    }
  });

  verifies("X-12/timeout", "does not count from the deadline on: silence is a denial", () => {
    for (const atMs of [expiresAtMs, Number.NaN]) {
      for (const state of ["pending", "allowed"] as const) {
        expect(objectionTo({ ...approval, state }, hashOf("other"), atMs)).toContain("expired");
      }
    }
    expect(objectionTo({ ...approval, state: "expired" }, planHash, inTime)).toContain("expired");
  });
});

test("only a pending approval is decided", () => {
  expect(codeOf(checkDecideApproval(null))).toBe("store.conflict");
  for (const state of STATES) {
    const expected = state === "pending" ? "write" : "store.conflict";
    expect([state, codeOf(checkDecideApproval({ ...approval, state }))]).toEqual([state, expected]);
  }
});

describe("consuming", () => {
  const inTime = approval.expiresAtMs - 1;
  test.each(STATES)("%s", (state) => {
    const expected = state === "allowed" ? "write" : state === "consumed" ? "skip" : "store.conflict";
    expect(codeOf(checkConsumeApproval({ ...approval, state }, approval.planHash, inTime))).toBe(expected);
    const late = state === "consumed" ? "skip" : "store.conflict";
    for (const atMs of [approval.expiresAtMs, Number.NaN]) {
      expect(codeOf(checkConsumeApproval({ ...approval, state }, approval.planHash, atMs))).toBe(late);
    }
    expect(codeOf(checkConsumeApproval({ ...approval, state }, hashOf("other"), inTime))).toBe("store.conflict");
  });
  test("nothing", () => {
    expect(codeOf(checkConsumeApproval(null, approval.planHash, inTime))).toBe("store.conflict");
  });
});
