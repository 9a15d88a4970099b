import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalUse,
  consumeApproval,
  decideApproval,
  expireApproval,
} from "../../../src/kernel/policy/approval.ts";
import { type CallPlan, hashPlan } from "../../../src/kernel/policy/plan.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asApprovalId, asBodyRef, asCallId, asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import adversarial from "../../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../../requirements.ts";

const plan: CallPlan = {
  tool: "shell.exec",
  argsRef: asBodyRef(hashBytes("git status")),
  argv: ["git", "status"],
  cwd: { path: "/w", device: "1", inode: "2" },
  environmentHash: hashBytes("env hash A"),
  executable: { path: "/usr/bin/git", hash: hashBytes("git") },
  scriptHashes: [],
  targets: ["/w"],
  labels: { integrity: "user", confidentiality: "private" },
  sessionId: asSessionId("session A"),
  contractHash: hashBytes("contract"),
};
const pending: Approval = {
  id: asApprovalId("appr_1"),
  runId: asRunId("run_1"),
  sessionId: plan.sessionId,
  callId: asCallId("call_1"),
  planHash: hashPlan(plan),
  expiresAtMs: 601_000,
  state: "pending",
  decidedBy: null,
  requiredScope: "operate",
};
const allowed: Approval = { ...pending, state: "allowed", decidedBy: "andrew" };
const STATES = ["pending", "allowed", "denied", "expired", "consumed"] as const;

const answer = (changes: Partial<ApprovalAnswer> = {}): ApprovalAnswer => ({
  decision: "allow",
  planHash: pending.planHash,
  by: { principal: "andrew", scopes: ["chat", "operate"] },
  nowMs: 2_000,
  ...changes,
});
const use = (changes: Partial<ApprovalUse> = {}): ApprovalUse => ({
  runId: pending.runId,
  callId: pending.callId,
  planHash: pending.planHash,
  sessionId: pending.sessionId,
  nowMs: 3_000,
  ...changes,
});
const refused = (code: string) => ({ ok: false, code });

describe("decideApproval", () => {
  verifies(
    "X-12",
    "an operator's answer to the plan that was shown allows or denies it, and is recorded as theirs",
    () => {
      expect(decideApproval(pending, answer())).toEqual({ ok: true, approval: allowed });
      expect(decideApproval(pending, answer({ decision: "deny" }))).toEqual({
        ok: true,
        approval: { ...pending, state: "denied", decidedBy: "andrew" },
      });
    },
  );

  verifies("X-12/plan", "an answer to another plan is a conflict, whether it allows or denies", () => {
    for (const decision of ["allow", "deny"] as const) {
      expect(decideApproval(pending, answer({ decision, planHash: hashBytes("other") }))).toEqual(refused("conflict"));
    }
  });

  test("without the required scope there is no answer, and nothing to learn", () => {
    for (const scopes of [[], ["chat"], ["operat"], ["operate.all"], ["*"]]) {
      for (const state of STATES) {
        const asked = answer({ by: { principal: "andrew", scopes }, planHash: hashBytes("other"), nowMs: 700_000 });
        expect(decideApproval({ ...pending, state }, asked)).toEqual(refused("auth.forbidden"));
      }
    }
  });

  test("a decision is made once", () => {
    for (const state of ["allowed", "denied", "consumed"] as const) {
      for (const decision of ["allow", "deny"] as const) {
        expect(decideApproval({ ...pending, state }, answer({ decision }))).toEqual(refused("already-decided"));
      }
    }
    expect(decideApproval({ ...pending, state: "expired" }, answer())).toEqual(refused("expired"));
  });

  verifies("X-12/timeout", "from the deadline on nobody can allow: silence is a denial", () => {
    expect(decideApproval(pending, answer({ nowMs: 600_999 }))).toMatchObject({ ok: true });
    expect(decideApproval(pending, answer({ nowMs: 601_000 }))).toEqual(refused("expired"));
    expect(decideApproval(pending, answer({ nowMs: Number.NaN }))).toEqual(refused("expired"));
    expect(decideApproval(pending, answer({ nowMs: 601_000, planHash: hashBytes("other") }))).toEqual(
      refused("expired"),
    );
  });

  test("what became of an effect is answered in its own words", () => {
    for (const decision of ["done", "retry", "fail"] as const) {
      expect(decideApproval(pending, answer({ decision }))).toMatchObject({ ok: true, approval: { state: decision } });
    }
  });

  test("anything but a plain allow denies", () => {
    for (const decision of ["allow-always", "allow-once", "ALLOW", "", "yes"]) {
      const answered = decideApproval(pending, answer({ decision: decision as "allow" }));
      expect(answered).toMatchObject({ ok: true, approval: { state: "denied" } });
    }
  });
});

describe("consumeApproval", () => {
  verifies("X-12/once", "an approval is used once", () => {
    const first = consumeApproval(allowed, use());
    expect(first).toEqual({ ok: true, approval: { ...allowed, state: "consumed" } });
    if (first.ok) expect(consumeApproval(first.approval, use())).toEqual(refused("already-consumed"));
  });

  verifies("X-12", "an approval serves its own call of its own run in its own session, and no other", () => {
    expect(consumeApproval(allowed, use({ runId: asRunId("run_2") }))).toEqual(refused("conflict"));
    expect(consumeApproval(allowed, use({ callId: asCallId("call_2") }))).toEqual(refused("conflict"));
    expect(consumeApproval(allowed, use({ planHash: hashBytes("other") }))).toEqual(refused("conflict"));
    expect(consumeApproval(allowed, use({ sessionId: asSessionId("session B") }))).toEqual(refused("conflict"));
  });

  test("what nobody allowed is not usable", () => {
    expect(consumeApproval(pending, use())).toEqual(refused("not-allowed"));
    expect(consumeApproval({ ...pending, state: "denied" }, use())).toEqual(refused("not-allowed"));
    expect(consumeApproval({ ...pending, state: "expired" }, use())).toEqual(refused("expired"));
  });

  test("an allowed approval lapses at its deadline too", () => {
    expect(consumeApproval(allowed, use({ nowMs: 600_999 }))).toMatchObject({ ok: true });
    expect(consumeApproval(allowed, use({ nowMs: 601_000 }))).toEqual(refused("expired"));
    expect(consumeApproval(allowed, use({ nowMs: Number.NaN }))).toEqual(refused("expired"));
    expect(consumeApproval({ ...allowed, state: "consumed" }, use({ nowMs: 601_000 }))).toEqual(
      refused("already-consumed"),
    );
  });
});

describe("expireApproval", () => {
  test("what is open at the deadline expires and keeps all else; the rest stays as it is", () => {
    expect(expireApproval(pending, 600_999)).toBe(pending);
    expect(expireApproval(pending, 601_000)).toEqual({ ...pending, state: "expired" });
    expect(expireApproval(allowed, 601_000)).toEqual({ ...allowed, state: "expired" });
    for (const state of ["denied", "expired", "consumed"] as const) {
      const closed: Approval = { ...pending, state };
      expect(expireApproval(closed, 601_000)).toBe(closed);
    }
  });
});

describe("any history", () => {
  type Step =
    | { readonly kind: "decide"; readonly with: ApprovalAnswer }
    | { readonly kind: "use"; readonly with: ApprovalUse };
  const anyPlanHash = fc.constantFrom(pending.planHash, pending.planHash, hashBytes("other"));
  const anyTime = fc.constantFrom(0, 2_000, 600_999, 601_000, Number.NaN);
  const anyStep: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      kind: fc.constant("decide" as const),
      with: fc.record({
        decision: fc.constantFrom("allow" as const, "allow" as const, "deny" as const),
        planHash: anyPlanHash,
        by: fc.record({ principal: fc.constant("andrew"), scopes: fc.subarray<string>(["chat", "operate"]) }),
        nowMs: anyTime,
      }),
    }),
    fc.record({
      kind: fc.constant("use" as const),
      with: fc.record({
        runId: fc.constantFrom(pending.runId, pending.runId, asRunId("run_2")),
        callId: fc.constantFrom(pending.callId, pending.callId, asCallId("call_2")),
        planHash: anyPlanHash,
        sessionId: fc.constantFrom(pending.sessionId, pending.sessionId, asSessionId("session B")),
        nowMs: anyTime,
      }),
    }),
  );

  verifies(
    "X-12",
    "whatever is asked in whatever order: at most one use, after one authorised allow of that plan in time",
    () => {
      let used = 0;
      fc.assert(
        fc.property(fc.array(anyStep, { maxLength: 8 }), (steps) => {
          let current = pending;
          let uses = 0;
          let isAllowed = false;
          for (const step of steps) {
            const changed =
              step.kind === "decide" ? decideApproval(current, step.with) : consumeApproval(current, step.with);
            if (!changed.ok) continue;
            current = changed.approval;
            expect(step.with.planHash).toBe(pending.planHash);
            expect(step.with.nowMs).toBeLessThan(pending.expiresAtMs);
            if (step.kind === "decide") {
              expect(step.with.by.scopes).toContain("operate");
              expect(isAllowed).toBe(false);
              isAllowed = step.with.decision === "allow";
            } else {
              expect(isAllowed).toBe(true);
              expect(step.with).toMatchObject({
                runId: pending.runId,
                callId: pending.callId,
                sessionId: pending.sessionId,
              });
              uses += 1;
            }
          }
          expect(uses).toBeLessThanOrEqual(1);
          used += uses;
        }),
        { numRuns: 1000 },
      );
      expect(used).toBeGreaterThan(0);
    },
  );
});

describe("approval_toctou", () => {
  const input = (name: string): Record<string, unknown> => {
    const found = adversarial.find((entry) => entry.class === "approval_toctou" && entry.name === name);
    return { ...(found?.input as object) };
  };
  /** Approved as `plan`, then run as something else. */
  const runAs = (changes: Partial<CallPlan>) =>
    consumeApproval(allowed, use({ planHash: hashPlan({ ...plan, ...changes }) }));

  test("the unchanged plan is the control: it runs", () => {
    expect(runAs({})).toMatchObject({ ok: true });
  });

  test("allow_always_widening: a longer command of the same program needs an approval of its own", () => {
    const { approve, later } = input("allow_always_widening") as { approve: string; later: string };
    expect(approve.split(" ")).toEqual(plan.argv);
    expect(runAs({ argv: later.split(" ") })).toEqual(refused("conflict"));
  });

  test("approver_scope_too_small: a scope for something else does not approve", () => {
    const { approver, requested } = input("approver_scope_too_small") as { approver: string[]; requested: string[] };
    const needed: Approval = { ...pending, requiredScope: String(requested[0]) };
    const by = { principal: "mallory", scopes: approver };
    expect(decideApproval(needed, answer({ by }))).toEqual(refused("auth.forbidden"));
    expect(decideApproval(needed, answer({ by: { ...by, scopes: requested } }))).toMatchObject({ ok: true });
  });

  test("cross_session: an approval of one session is none in another", () => {
    const { approval, exec } = input("cross_session") as { approval: string; exec: string };
    expect(allowed.sessionId).toBe(approval);
    expect(consumeApproval(allowed, use({ sessionId: asSessionId(exec) }))).toEqual(refused("conflict"));
    expect(runAs({ sessionId: asSessionId(exec) })).toEqual(refused("conflict"));
  });

  test("env_changed_after: another environment is another plan", () => {
    const { approve, exec } = input("env_changed_after") as { approve: string; exec: string };
    expect(plan.environmentHash).toBe(hashBytes(approve));
    expect(runAs({ environmentHash: hashBytes(exec) })).toEqual(refused("conflict"));
  });

  test("expired: a second past the time-out it neither allows nor runs", () => {
    const nowMs = 1_000 + Number(input("expired")["age_s"]) * 1_000;
    expect(decideApproval(pending, answer({ nowMs }))).toEqual(refused("expired"));
    expect(consumeApproval(allowed, use({ nowMs }))).toEqual(refused("expired"));
  });

  test("raw_vs_argv_mismatch: what was shown is what runs", () => {
    const { argv } = input("raw_vs_argv_mismatch") as { argv: string[] };
    expect(runAs({ argv })).toEqual(refused("conflict"));
  });

  test("a swapped working directory is another plan, though its path is the same", () => {
    expect(runAs({ cwd: { path: "/w", device: "1", inode: "3" } })).toEqual(refused("conflict"));
  });
});
