import { describe, expect, test } from "vitest";
import type { RecordedResponse } from "../../../src/kernel/journal/event.ts";
import { notePerformed, noteRefusal, STATEMENT_TOKENS } from "../../../src/kernel/machine/result.ts";
import { type CallInFlight, startRun } from "../../../src/kernel/machine/state.ts";
import type { Turn } from "../../../src/kernel/machine/turn.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { asCallId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { type Labels, UNTRUSTED_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import { contractOf, errorResponse, okResponse, plan, RUN_ID, ref } from "./scripted-run.ts";

const contract = contractOf();
const turn = (): Turn => ({ state: startRun(RUN_ID, contract), commands: [], transitions: [] });
const READ = plan({ id: "c1", tool: "fs.read_text", args: "a" });
const CALL: CallInFlight = { ...READ, effects: [0], approvalId: null, validatedUnder: USER_LABELS, sharedBy: [] };
const performed = (response: RecordedResponse, call = CALL, from = turn(), labels: Labels = USER_LABELS) =>
  notePerformed(from, call, { response, labels, tokens: 7 }).state;
const CALL_KEY = `fs.read_text ${ref("a")}`;

describe("a performed call", () => {
  verifies("M-P3", "that succeeded is counted, remembered and told to the model", () => {
    const state = performed(okResponse("hello"));
    expect(state.budget).toEqual({ ...turn().state.budget, performed: 1, succeeded: 1, toolOutputBytes: 5 });
    expect(state.lastTool).toBe("fs.read_text");
    expect(state.effects).toEqual({ proven: [0], attempted: [] });
    expect(state.history).toEqual([{ call: CALL_KEY, result: ref("hello") }]);
    expect(state.failedAttempts).toEqual([]);
    expect(state.labels).toEqual(USER_LABELS);
    expect(state.recovery).toMatchObject({ successesInARow: 1 });
    expect(state.prompt).toEqual({ head: hashCanonical([contract.contractHash, `c1 ${ref("hello")}`]), tokens: 7 });
  });

  verifies("M-P3", "that failed is counted, remembered and told to the model", () => {
    const state = performed(errorResponse("timeout", "late"));
    expect(state.budget).toEqual({ ...turn().state.budget, performed: 1, succeeded: 0, toolOutputBytes: 0 });
    expect(state.effects).toEqual({ proven: [], attempted: [0] });
    expect(state.history).toEqual([{ call: CALL_KEY, result: "timeout" }]);
    expect(state.failedAttempts).toEqual([
      { tool: "fs.read_text", argsRef: ref("a"), code: "timeout", messageRef: ref("late"), outputRef: null },
    ]);
    expect(state.recovery).toMatchObject({ failuresInARow: 1 });
    expect(state.prompt).toEqual({
      head: hashCanonical([contract.contractHash, `c1 timeout ${ref("late")}`]),
      tokens: 7,
    });
  });

  test("without an output is remembered as done", () => {
    expect(performed({ ...okResponse(""), outputRef: null }).history).toEqual([{ call: CALL_KEY, result: "done" }]);
  });

  test("adds its effects and attempts to those before", () => {
    const first = { ...turn(), state: { ...turn().state, effects: { proven: [1], attempted: [2] } } };
    expect(performed(okResponse("x"), { ...CALL, effects: [1, 3] }, first).effects).toEqual({
      proven: [1, 3],
      attempted: [2],
    });
    expect(performed(errorResponse(), { ...CALL, effects: [3] }, first).effects).toEqual({
      proven: [1],
      attempted: [2, 3],
    });
  });

  test("labels what the run has seen, for good", () => {
    const seen = { ...turn(), state: { ...turn().state, labels: USER_LABELS } };
    expect(performed(okResponse("x"), CALL, seen, UNTRUSTED_LABELS).labels).toEqual({
      integrity: "untrusted",
      confidentiality: "private",
    });
  });

  test("is told once for every call that shares it, and counted once", () => {
    const state = performed(okResponse("x"), { ...CALL, sharedBy: [asCallId("c2"), asCallId("c3")] });
    const result = ref("x");
    const head = ["c1", "c2", "c3"].reduce(
      (prev, id) => hashCanonical([prev, `${id} ${result}`]),
      contract.contractHash,
    );
    expect(state.prompt).toEqual({ head, tokens: 21 });
    expect(state.budget.performed).toBe(1);
    expect(state.history).toHaveLength(1);
  });

  test("that may be polled leaves no trail", () => {
    expect(performed(okResponse("x"), { ...CALL, pollable: true }).history).toEqual([]);
  });
});

describe("a refused call", () => {
  verifies("M-C", "is told to the model and remembered, but was never performed", () => {
    const { state } = noteRefusal(turn(), { ...READ, effects: [0] }, "policy.denied", "policy.latch");
    expect(state.budget).toEqual(turn().state.budget);
    expect(state.effects).toEqual({ proven: [], attempted: [] });
    expect(state.lastTool).toBeNull();
    expect(state.history).toEqual([{ call: CALL_KEY, result: "policy.denied" }]);
    expect(state.failedAttempts).toEqual([
      { tool: "fs.read_text", argsRef: ref("a"), code: "policy.denied", messageRef: null, outputRef: null },
    ]);
    expect(state.recovery).toMatchObject({ failuresInARow: 1 });
    expect(state.prompt).toEqual({
      head: hashCanonical([contract.contractHash, "c1 policy.latch"]),
      tokens: STATEMENT_TOKENS,
    });
  });

  test("names its problem by reference", () => {
    const problem = { code: "tool.input_invalid", retryable: false, messageRef: ref("why") } as const;
    const { state } = noteRefusal(turn(), { ...READ, problem }, "tool.input_invalid", "plan.problem");
    expect(state.failedAttempts).toMatchObject([{ code: "tool.input_invalid", messageRef: ref("why") }]);
  });
});

test("only the last five failing attempts are kept", () => {
  let current = turn();
  for (let index = 0; index < 7; index += 1) {
    const call = { ...READ, argsRef: ref(`${index}`) };
    current = noteRefusal(current, call, "policy.denied", "policy.contract");
  }
  expect(current.state.failedAttempts.map(({ argsRef }) => argsRef)).toEqual(["2", "3", "4", "5", "6"].map(ref));
});

test("a statement's upper bound", () => {
  expect(STATEMENT_TOKENS).toBe(64);
});
