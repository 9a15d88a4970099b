import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { FAILURES } from "../../../src/kernel/vocabulary/failures.ts";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import {
  answered,
  approval,
  at,
  backendOk,
  batch,
  begin,
  cancel,
  commandsOf,
  commandTypes,
  contractOf,
  delegation,
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
  path,
  plan,
  planned,
  play,
  playOn,
  ref,
  timer,
  toolTurn,
  untimed,
} from "./scripted-run.ts";

const READ = { id: "c1", tool: "fs.read_text", args: "a" };
const WRITE = { id: "c2", tool: "fs.write_text", args: "b" };
const problem = { code: "tool.input_invalid", retryable: false, messageRef: ref("path is missing") } as const;

describe("a proposed batch", () => {
  verifies("M-5", "is planned first, whole and in order", () => {
    const run = play(contractOf(), [...begin(), answered(1, { calls: [READ, WRITE] })]);
    expect(run.state.phase.at).toBe("VALIDATE_CALLS");
    expect(lastCommands(run)).toEqual([
      {
        type: "plan-calls",
        step: 1,
        round: 1,
        calls: [
          { callId: "c1", tool: "fs.read_text", argsRef: ref("a") },
          { callId: "c2", tool: "fs.write_text", argsRef: ref("b") },
        ],
      },
    ]);
    expect(path(run)).toEqual(["PRECHECK", "INFER"]);
  });

  verifies("M-E", "is recorded with a decision per call, in proposed order", () => {
    const calls = [plan(READ), plan(WRITE)];
    const run = play(contractOf(), [...begin(), ...batch(1, calls)]);
    expect(lastEntry(run, "VALIDATE_CALLS")).toMatchObject({
      actor: "system",
      stepId: "step-1",
      decided: {
        calls: [
          {
            callId: "c1",
            tool: "fs.read_text",
            argsRef: ref("a"),
            planHash: calls[0]?.planHash,
            policyId: "policy.risk.read_only",
            decision: "allow",
            approvalId: null,
            refusal: null,
          },
          {
            callId: "c2",
            tool: "fs.write_text",
            argsRef: ref("b"),
            planHash: calls[1]?.planHash,
            policyId: "policy.risk.side_effect",
            decision: "allow",
            approvalId: null,
            refusal: null,
          },
        ],
        heard: [inStep(1, planned(calls))],
      },
      result: null,
    });
  });

  test("an answer without calls is recorded as an empty batch and is the run's answer", () => {
    const run = play(contractOf(), [...begin(), answered(1, { text: "hi" })]);
    expect(lastEntry(run, "VALIDATE_CALLS")).toMatchObject({ decided: { calls: [], heard: [] }, result: null });
    expect(outcomeOf(run)).toBe("COMPLETED_CHAT_ONLY");
    expect(commandTypes(run)).not.toContain("plan-calls");
  });
});

describe("a contract that forbids tools", () => {
  verifies(["M-P2b", "M-4.5"], "ends with the first call, and nothing was performed", () => {
    const run = play(contractOf({ toolPolicy: "forbidden" }), [...begin(), answered(1, { calls: [READ, WRITE] })]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION tool.forbidden");
    const refusal = { code: "policy.denied", message: FAILURES["tool.forbidden"].advice, messageRef: null };
    const denied = { planHash: null, policyId: "tool.forbidden", decision: "deny", approvalId: null, refusal };
    expect(lastEntry(run, "VALIDATE_CALLS")).toMatchObject({
      decided: {
        calls: [
          { callId: "c1", tool: "fs.read_text", argsRef: ref("a"), ...denied },
          { callId: "c2", tool: "fs.write_text", argsRef: ref("b"), ...denied },
        ],
      },
      result: null,
    });
    expect(lastTypes(run)).toEqual(["finish"]);
    expect(path(run)).toEqual(["PRECHECK", "INFER", "VALIDATE_CALLS", "COMMIT", "TERMINATE"]);
    expect(lastEntry(run, "COMMIT").decided.budget.performed).toBe(0);
  });

  test("offers the model no tools", () => {
    expect(lastCommands(play(contractOf({ toolPolicy: "forbidden" }), begin()))).toMatchObject([{ tools: [] }]);
  });
});

describe("a call that may not be made", () => {
  verifies("M-P2b", "is refused to the model, counted as a failing result and not as performed", () => {
    const run = play(contractOf({ allowedTools: ["fs.read_text"] }), [...begin(), ...batch(1, [plan(WRITE)])]);
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls).toMatchObject([
      {
        callId: "c2",
        planHash: plan(WRITE).planHash,
        policyId: "policy.contract",
        decision: "deny",
        refusal: {
          code: "policy.denied",
          message: "This run's contract does not list the tool: start a run whose allowed_tools do.",
          messageRef: null,
        },
      },
    ]);
    expect(lastEntry(run, "COMMIT").decided).toMatchObject({
      budget: { performed: 0, succeeded: 0, toolOutputBytes: 0 },
      recovery: { active: false, failuresInARow: 1 },
      cycle: 1,
      skipped: [],
      next: "INFER",
    });
    expect(path(run)).toEqual(["PRECHECK", "INFER", "VALIDATE_CALLS", "COMMIT"]);
    expect(lastTypes(run)).toEqual(["call-model"]);
  });

  verifies("M-P2b", "because it cannot be planned says so by reference: its message may quote arguments", () => {
    const run = play(contractOf(), [...begin(), ...batch(1, [plan(READ, { problem })])]);
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls).toMatchObject([
      {
        policyId: "plan.problem",
        decision: "deny",
        refusal: { code: "tool.input_invalid", message: "", messageRef: problem.messageRef },
      },
    ]);
    expect(run.state.failedAttempts).toEqual([
      {
        tool: "fs.read_text",
        argsRef: ref("a"),
        code: "tool.input_invalid",
        messageRef: problem.messageRef,
        outputRef: null,
      },
    ]);
  });

  test("leaves the rest of a lenient batch alone", () => {
    const run = play(contractOf(), [...begin(), ...batch(1, [plan(READ, { problem }), plan(WRITE)])]);
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls.map(({ decision }) => decision)).toEqual(["deny", "allow"]);
    expect(lastCommands(run)).toMatchObject([{ type: "run-tool", callId: "c2" }]);
  });

  verifies(["M-7.5/gating", "M-P2b"], "refuses the whole of a strict batch, before anyone is asked", () => {
    const contract = contractOf({ strictMode: true, toolPolicy: "required" });
    const calls = [plan(READ), plan({ ...WRITE, id: "c2" }, { problem }), plan({ ...READ, id: "c3" })];
    const run = play(contract, [...begin(), ...batch(1, calls)]);
    const strict = {
      policyId: "contract.strict-batch",
      decision: "deny",
      refusal: {
        code: "policy.denied",
        message: "not performed: another call of the same batch was refused",
        messageRef: null,
      },
    };
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls).toMatchObject([
      { callId: "c1", ...strict },
      { callId: "c2", policyId: "plan.problem", decision: "deny", refusal: { code: "tool.input_invalid" } },
      { callId: "c3", ...strict },
    ]);
    expect(commandsOf(run, "run-tool")).toEqual([]);
    expect(lastEntry(run, "COMMIT").decided.recovery.failuresInARow).toBe(3);
    expect(lastEntry(run, "COMMIT").decided.budget.performed).toBe(0);
  });

  verifies(
    ["M-7.5", "T-3b"],
    "an unaffordable delegation refuses a strict batch, and only itself in a lenient one",
    () => {
      const calls = [plan(READ), delegation("c2", { inferences: 10, tokens: 0, spendMicrousd: 0 })];
      const strict = contractOf({ strictMode: true, toolPolicy: "required" });
      const refused = play(strict, [...begin(), ...batch(1, calls)]);
      expect(lastEntry(refused, "VALIDATE_CALLS").decided.calls).toMatchObject([
        { callId: "c1", policyId: "contract.strict-batch", decision: "deny" },
        {
          callId: "c2",
          policyId: "budget.carved",
          decision: "deny",
          refusal: { code: "policy.denied", message: "not performed: the run cannot afford what it would delegate" },
        },
      ]);
      const affordable = [plan(READ), delegation("c2", { inferences: 9, tokens: 0, spendMicrousd: 0 })];
      expect(lastCommands(play(strict, [...begin(), ...batch(1, affordable)]))).toMatchObject([{ callId: "c1" }]);
      expect(lastCommands(play(contractOf(), [...begin(), ...batch(1, calls)]))).toMatchObject([{ callId: "c1" }]);
    },
  );

  test("a strict batch with nothing refused runs as proposed", () => {
    const contract = contractOf({ strictMode: true, toolPolicy: "required" });
    const run = play(contract, [...begin(), ...batch(1, [plan(READ), plan(WRITE)])]);
    expect(lastCommands(run)).toMatchObject([{ type: "run-tool", callId: "c1" }]);
  });

  verifies("P-3.2", "a plan made before the kill switch does not lift it", () => {
    const run = play(contractOf(), [
      ...begin(),
      answered(1, { calls: [WRITE] }),
      narrowed(NO_SIDE_EFFECTS),
      planned([plan(WRITE)]),
    ]);
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls).toMatchObject([{ policyId: "policy.kill-switch" }]);
    expect(commandsOf(run, "run-tool")).toEqual([]);
  });

  test("the kill switch stays in force until it is lifted", () => {
    const turn = (...lifted: readonly RunEvent[]) =>
      play(contractOf(), [
        ...begin(),
        narrowed(NO_SIDE_EFFECTS),
        ...toolTurn(1, READ),
        ...lifted,
        ...batch(2, [plan(WRITE)]),
      ]);
    const performed = (run: Played) => commandsOf(run, "run-tool").map(({ callId }) => callId);
    expect(performed(turn())).toEqual(["c1"]);
    expect(performed(turn(narrowed({ policy: contractOf().policy, capabilities: [] })))).toEqual(["c1", "c2"]);
  });

  test("capabilities, channel and labels are the run's own", () => {
    const fetching = plan({ id: "c1", tool: "http.get", args: "a" }, { egress: ["a.test"] });
    const policyIdOf = (terms: Parameters<typeof contractOf>[0], labels = USER_LABELS) => {
      const run = play(contractOf(terms), [...begin({ labels }), ...batch(1, [fetching])]);
      const { phase } = run.state;
      if (phase.at === "VALIDATE_CALLS") return phase.verdicts[0]?.policyId;
      return lastEntry(run, "VALIDATE_CALLS").decided.calls[0]?.policyId;
    };
    const latched = { integrity: UNTRUSTED_LABELS.integrity, confidentiality: USER_LABELS.confidentiality };
    expect(policyIdOf({})).toBe("policy.capability");
    expect(policyIdOf({ capabilities: ["net:a.test"] })).toBe("policy.risk.read_only");
    expect(policyIdOf({ capabilities: ["net:a.test"] }, latched)).toBe("policy.latch");
    expect(policyIdOf({ capabilities: ["net"], channelClass: "external_email" })).toBe("policy.channel");
  });
});

describe("a forbidden pair", () => {
  const contract = contractOf({ cycleForbid: [["fs.read_text", "fs.write_text"]] });
  const LIST = { id: "c3", tool: "fs.list_dir", args: "c" };

  verifies("M-4.1", "within a batch ends the run, and nothing of it is performed", () => {
    const run = play(contract, [...begin(), ...batch(1, [plan(READ), plan(WRITE)])]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION cycle.forbidden-pair");
    expect(lastEntry(run, "VALIDATE_CALLS").decided).toMatchObject({
      calls: [
        { callId: "c1", policyId: "cycle.forbidden-pair", decision: "deny" },
        { callId: "c2", policyId: "cycle.forbidden-pair", decision: "deny" },
      ],
      heard: [inStep(1, planned([plan(READ), plan(WRITE)]))],
    });
    expect(lastTypes(run)).toEqual(["finish"]);
  });

  verifies("M-4.1", "across turns ends the run too", () => {
    const run = play(contract, [...begin(), ...toolTurn(1, READ), ...batch(2, [plan(WRITE)])]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION cycle.forbidden-pair");
    expect(commandsOf(run, "run-tool").map(({ callId }) => callId)).toEqual(["c1"]);
  });

  test("is none in the other order, with something between, or without its first call performed", () => {
    const lawful: readonly (readonly RunEvent[])[] = [
      batch(1, [plan(WRITE), plan(READ)]),
      batch(1, [plan(READ), plan(LIST), plan(WRITE)]),
      [...batch(1, [plan(READ, { problem })]), ...batch(2, [plan(WRITE)])],
    ];
    const runs = lawful.map((events) => play(contract, [...begin(), ...events]));
    expect(runs.map(outcomeOf)).toEqual(["OBSERVE", "OBSERVE", "OBSERVE"]);
  });

  verifies("M-4.1", "is one too when a refusal brings its calls together, before or after somebody was asked", () => {
    const between = (over = {}) => [plan(READ), plan(LIST, over), plan(WRITE)];
    const refused = play(contract, [...begin(), ...batch(1, between({ problem }))]);
    expect(outcomeOf(refused)).toBe("FAILED_CONTRACT_VIOLATION cycle.forbidden-pair");
    const listsAsk = contractOf({
      cycleForbid: [["fs.read_text", "fs.write_text"]],
      policy: { ...contract.policy, exceptions: [{ tool: "fs.list_dir", decision: "approve" }] },
    });
    const asked = play(listsAsk, [...begin(), ...batch(1, between())]);
    const denied = playOn(asked, [approval(plan(LIST), "deny"), planned(between())]);
    expect(outcomeOf(denied)).toBe("FAILED_CONTRACT_VIOLATION cycle.forbidden-pair");
    expect(commandsOf(denied, "run-tool")).toEqual([]);
    const allowed = playOn(asked, [approval(plan(LIST)), planned(between())]);
    expect(lastCommands(allowed)).toMatchObject([{ callId: "c1" }, { callId: "c3" }]);
  });

  test("compares both names, pair by pair", () => {
    const pairs = contractOf({
      cycleForbid: [
        ["fs.read_text", "http.get"],
        ["fs.list_dir", "fs.write_text"],
      ],
    });
    expect(outcomeOf(play(pairs, [...begin(), ...batch(1, [plan(READ), plan(WRITE)])]))).toBe("OBSERVE");
  });
});

describe("a batch that is being planned", () => {
  const waiting = () => play(contractOf(), [...begin(), answered(1, { calls: [READ, WRITE] })]);

  const ENDED: readonly (readonly [RunEvent, string, string])[] = [
    [cancel(), "INTERRUPTED run.cancelled", "invalid.request"],
    [timer("step", 120_000), "FAILED_TIMEOUT step.timeout", "timeout"],
    [timer("run", 600_000), "FAILED_TIMEOUT run.timeout", "timeout"],
  ];
  for (const [event, outcome, code] of ENDED) {
    verifies("M-5", `${outcome}: every call of it is refused for that reason`, () => {
      const run = playOn(waiting(), [event]);
      expect(outcomeOf(run)).toBe(outcome);
      const reason = outcome.split(" ")[1] as "run.cancelled";
      expect(lastEntry(run, "VALIDATE_CALLS")).toMatchObject({
        decided: {
          calls: [
            {
              callId: "c1",
              policyId: reason,
              decision: "deny",
              refusal: { code, message: FAILURES[reason].advice },
            },
            { callId: "c2", policyId: reason, decision: "deny" },
          ],
          heard: [],
        },
        result: untimed(event),
      });
      expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
    });
  }

  test("hears nothing but its plan", () => {
    const others = [
      backendOk(),
      answered(1, { text: "late" }),
      finished("c1"),
      timer("step", 119_999),
      timer("tool", 999_999),
      at(1, timer("grace", 999_999)),
    ];
    expect(others.map((event) => isIgnored(waiting(), event))).toEqual(others.map(() => true));
  });
});
