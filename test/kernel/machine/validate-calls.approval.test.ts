import { describe, expect, test } from "vitest";
import type { EventOf, PlannedCall, RunEvent } from "../../../src/kernel/journal/event.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asApprovalId, asCallId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import {
  ASKING,
  answered,
  approval,
  batch,
  begin,
  cancel,
  commandsOf,
  contractOf,
  finished,
  inStep,
  isIgnored,
  lastCommands,
  lastEntry,
  lastTypes,
  NO_SIDE_EFFECTS,
  narrowed,
  outcomeOf,
  type Played,
  plan,
  planned,
  play,
  playOn,
  ref,
  timer,
} from "./scripted-run.ts";

const READ = plan({ id: "c1", tool: "fs.read_text", args: "a" });
const WRITE = plan({ id: "c2", tool: "fs.write_text", args: "b" });
const OTHER = plan({ id: "c3", tool: "fs.write_text", args: "c" });
const contract = contractOf(ASKING);

const asking = (calls: readonly PlannedCall[], under = contract): Played =>
  play(under, [...begin(), ...batch(1, calls)]);
const performed = (run: Played): readonly string[] => commandsOf(run, "run-tool").map(({ callId }) => callId);
const decisions = (run: Played): readonly string[] =>
  lastEntry(run, "VALIDATE_CALLS").decided.calls.map(({ callId, decision, policyId, refusal }) =>
    `${callId} ${decision} ${policyId} ${refusal?.message ?? ""}`.trim(),
  );

describe("a call that needs approval", () => {
  verifies("X-12", "is asked for with its plan's hash, and nothing is recorded or done meanwhile", () => {
    const run = asking([READ, WRITE]);
    expect(lastCommands(run)).toEqual([
      {
        type: "ask-approval",
        step: 1,
        kind: "approve",
        callId: "c2",
        planHash: WRITE.planHash,
        why: "policy.risk.side_effect: This changes files, so your policy asks first.",
        labels: USER_LABELS,
      },
    ]);
    expect(run.entries.map(({ kind }) => kind)).toEqual(["run.created", "INFER"]);
    expect(performed(run)).toEqual([]);
  });

  verifies("X-12", "once allowed is planned again, and only then run, with its approval's id", () => {
    const allowed = playOn(asking([READ, WRITE]), [approval(WRITE)]);
    expect(lastCommands(allowed)).toMatchObject([
      { type: "plan-calls", calls: [{ callId: "c1" }, { callId: "c2", tool: "fs.write_text", argsRef: ref("b") }] },
    ]);
    expect(performed(allowed)).toEqual([]);
    const run = playOn(allowed, [planned([READ, WRITE]), finished("c1"), finished("c2")]);
    expect(performed(run)).toEqual(["c1", "c2"]);
    expect(commandsOf(run, "run-tool").map(({ approvalId }) => approvalId)).toEqual([null, "approval_c2"]);
    expect(lastEntry(run, "VALIDATE_CALLS")).toMatchObject({
      actor: "operator",
      decided: {
        calls: [
          { callId: "c1", decision: "allow", approvalId: null },
          { callId: "c2", decision: "allow", policyId: "policy.risk.side_effect", approvalId: "approval_c2" },
        ],
        heard: [inStep(1, planned([READ, WRITE])), inStep(1, approval(WRITE)), inStep(1, planned([READ, WRITE]), 2)],
      },
      result: {
        type: "approvals.given",
        approvals: [{ approvalId: "approval_c2", callId: "c2", decision: "allow", by: "operator" }],
      },
    });
    expect(lastEntry(run, "EXECUTE").decided.approvalId).toBe("approval_c2");
  });

  const DENIED: readonly (readonly [EventOf<"approval.decided">["decision"], string])[] = [
    ["deny", "denied by user"],
    ["expired", "denied: nobody answered in time"],
    ["unreachable", "denied: nobody can be asked on this channel"],
  ];
  for (const [decision, message] of DENIED) {
    verifies("X-12", `${decision} is a denial the model is told of, and the rest of the batch goes on`, () => {
      const run = playOn(asking([READ, WRITE]), [approval(WRITE, decision), planned([READ, WRITE]), finished("c1")]);
      expect(decisions(run)).toEqual(["c1 allow policy.risk.read_only", `c2 deny policy.risk.side_effect ${message}`]);
      expect(lastEntry(run, "VALIDATE_CALLS")).toMatchObject({
        decided: { calls: [{}, { refusal: { code: "policy.denied", messageRef: null }, approvalId: null }] },
        result: { approvals: [{ callId: "c2", decision }] },
      });
      expect(performed(run)).toEqual(["c1"]);
      expect(outcomeOf(run)).toBe("INFER");
      expect(lastEntry(run, "COMMIT").decided).toMatchObject({ budget: { performed: 1 }, skipped: [] });
    });
  }

  verifies("X-12", "is not decided by an answer to another plan, another call, or a second one", () => {
    const run = asking([READ, WRITE]);
    const elsewhere = [
      approval(WRITE, "allow", { planHash: hashBytes("another plan") }),
      approval(WRITE, "allow", { callId: asCallId("c9") }),
      approval(READ, "allow"),
      planned([READ, WRITE]),
      finished("c1"),
    ];
    expect(elsewhere.map((event) => isIgnored(run, event))).toEqual(elsewhere.map(() => true));
    const decided = playOn(run, [approval(WRITE, "deny")]);
    expect(isIgnored(decided, approval(WRITE, "allow"))).toBe(true);
  });

  test("an approval before there is a plan is not heard", () => {
    const run = play(contract, [...begin(), answered(1, { calls: [{ id: "c2", tool: "fs.write_text", args: "b" }] })]);
    expect(isIgnored(run, approval(WRITE))).toBe(true);
  });

  test("cannot time out by the run's own clock, but can be cancelled", () => {
    const run = asking([WRITE]);
    expect(isIgnored(run, timer("step", 999_999))).toBe(true);
    expect(isIgnored(run, timer("run", 999_999))).toBe(true);
    const cancelled = playOn(run, [cancel()]);
    expect(outcomeOf(cancelled)).toBe("INTERRUPTED run.cancelled");
    expect(lastTypes(cancelled)).toEqual(["stop-work", "finish"]);
    expect(lastEntry(cancelled, "VALIDATE_CALLS").decided.heard).toEqual([inStep(1, planned([WRITE]))]);
  });
});

describe("two approvals in one batch", () => {
  verifies("X-12", "are asked for together and planned again after the last answer", () => {
    const run = asking([WRITE, OTHER]);
    expect(commandsOf(run, "ask-approval").map(({ callId }) => callId)).toEqual(["c2", "c3"]);
    const one = playOn(run, [approval(OTHER, "allow", { by: "bob" })]);
    expect(lastCommands(one)).toEqual([]);
    expect(isIgnored(one, planned([WRITE, OTHER]))).toBe(true);
    const both = playOn(one, [approval(WRITE, "deny", { approvalId: asApprovalId("approval_9") })]);
    expect(lastTypes(both)).toEqual(["plan-calls"]);
    const done = playOn(both, [planned([WRITE, OTHER])]);
    expect(decisions(done)).toEqual([
      "c2 deny policy.risk.side_effect denied by user",
      "c3 allow policy.risk.side_effect",
    ]);
    expect(lastEntry(done, "VALIDATE_CALLS")).toMatchObject({
      actor: "operator",
      result: {
        approvals: [
          { approvalId: "approval_c3", callId: "c3", decision: "allow", by: "bob" },
          { approvalId: "approval_9", callId: "c2", decision: "deny", by: "operator" },
        ],
      },
    });
    expect(performed(done)).toEqual(["c3"]);
  });

  verifies(["M-7.5", "X-12"], "of a strict batch: one denial refuses both", () => {
    const strict = contractOf({ ...ASKING, strictMode: true, toolPolicy: "required" });
    const run = playOn(asking([WRITE, OTHER], strict), [
      approval(WRITE, "deny"),
      approval(OTHER),
      planned([WRITE, OTHER]),
    ]);
    expect(decisions(run)).toEqual([
      "c2 deny policy.risk.side_effect denied by user",
      "c3 deny contract.strict-batch not performed: another call of the same batch was refused",
    ]);
    expect(performed(run)).toEqual([]);
  });
});

describe("after the last answer everything is decided again", () => {
  const CHANGED = "c2 deny approval.plan-changed denied: what would be done has changed since it was approved";
  const problem = { code: "tool.input_invalid", retryable: false, messageRef: null } as const;
  const again = (calls: readonly PlannedCall[], ...meanwhile: readonly RunEvent[]): Played =>
    playOn(asking([READ, WRITE]), [approval(WRITE), ...meanwhile, planned(calls)]);

  verifies("X-12", "a plan that has changed is not the one that was approved", () => {
    const run = again([READ, { ...WRITE, planHash: hashBytes("another plan") }]);
    expect(decisions(run)).toEqual(["c1 allow policy.risk.read_only", CHANGED]);
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls[1]?.refusal?.code).toBe("policy.denied");
    expect(performed(run)).toEqual(["c1"]);
  });

  verifies("X-12", "nor is one that can no longer be made", () => {
    expect(decisions(again([READ, { ...WRITE, problem }]))).toEqual(["c1 allow policy.risk.read_only", CHANGED]);
  });

  verifies("X-12", "nor does one count whose time was over meanwhile", () => {
    const run = again([READ, WRITE], approval(WRITE, "expired", { by: "system" }));
    expect(decisions(run)).toEqual([
      "c1 allow policy.risk.read_only",
      "c2 deny policy.risk.side_effect denied: the approval expired before it was used",
    ]);
    expect(performed(run)).toEqual(["c1"]);
    const allowed = playOn(asking([READ, WRITE]), [approval(WRITE)]);
    const another = approval(WRITE, "expired", { approvalId: asApprovalId("approval_9") });
    expect([another, approval(WRITE, "deny")].map((event) => isIgnored(allowed, event))).toEqual([true, true]);
  });

  test("a call that needed no approval must not have changed either", () => {
    const run = again([{ ...READ, planHash: hashBytes("another plan") }, WRITE]);
    expect(decisions(run)).toEqual([CHANGED.replace("c2", "c1"), "c2 allow policy.risk.side_effect"]);
  });

  verifies("X-12", "an approval opens no gate that has closed since", () => {
    const closed = "c2 deny policy.kill-switch Side effects are switched off: see tools.policy.sideEffects.";
    const run = again([READ, WRITE], narrowed(NO_SIDE_EFFECTS));
    expect(decisions(run)).toEqual(["c1 allow policy.risk.read_only", closed]);
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls[1]?.refusal?.code).toBe("policy.denied");
    const told = playOn(asking([READ, WRITE]), [narrowed(NO_SIDE_EFFECTS), approval(WRITE), planned([READ, WRITE])]);
    expect(decisions(told)[1]).toBe(closed);
    expect(lastEntry(told, "VALIDATE_CALLS").decided.heard.map(({ type }) => type)).toEqual([
      "calls.planned",
      "policy.narrowed",
      "approval.decided",
      "calls.planned",
    ]);
  });

  test("what was free and asks now is refused: nobody was asked about it", () => {
    const readsAsk = { ...contract.policy, risk: { ...contract.policy.risk, read_only: "approve" as const } };
    const run = again([READ, WRITE], narrowed({ policy: readsAsk, capabilities: [] }));
    expect(decisions(run)).toEqual([
      "c1 deny policy.risk.read_only Calls of this risk class need approval: approve or deny this plan.",
      "c2 allow policy.risk.side_effect",
    ]);
  });

  test("what was refused stays refused", () => {
    const run = playOn(asking([READ, WRITE]), [
      approval(WRITE, "deny"),
      planned([READ, { ...WRITE, planHash: hashBytes("another plan") }]),
    ]);
    expect(decisions(run)[1]).toBe("c2 deny policy.risk.side_effect denied by user");
  });

  test("an approval that is no longer needed does no harm", () => {
    const live = { policy: contract.policy, capabilities: [] };
    const run = play(contractOf(), [
      ...begin(),
      answered(1, { calls: [{ id: "c2", tool: "fs.write_text", args: "b" }] }),
      narrowed(live),
      planned([WRITE]),
      approval(WRITE),
      narrowed({ policy: contractOf().policy, capabilities: [] }),
      planned([WRITE]),
    ]);
    expect(decisions(run)).toEqual(["c2 allow policy.risk.side_effect"]);
    expect(performed(run)).toEqual(["c2"]);
  });
});
