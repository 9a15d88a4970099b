import fc from "fast-check";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { type RunSummary, RunSummarySchema, runSummary } from "../../../../src/kernel/journal/views/run-summary.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../../requirements.ts";
import { anyRun } from "./any-run.ts";
import { CANARY } from "./canned-events.ts";
import { call, calls, type RunEnd, type TurnScript } from "./run-script.ts";
import { writeRun } from "./write-run.ts";

const isValid = Compile(RunSummarySchema);
const summaryOf = (turns: readonly TurnScript[], end: RunEnd): RunSummary =>
  runSummary(writeRun(turns, end).entries) as RunSummary;
const codesOf = (turns: readonly TurnScript[], end: RunEnd) =>
  summaryOf(turns, end).error_log.map(({ step_id, state, code, tool }) => [step_id, state, code, tool]);

verifies("M-P4a", "a run that has ended has a summary of the published shape, frozen and without content", () => {
  fc.assert(
    fc.property(anyRun, ({ entries }) => {
      const summary = runSummary(entries);
      expect(isValid.Check(summary)).toBe(true);
      expect(JSON.stringify(summary)).not.toContain(CANARY);
      expect(Object.isFrozen(summary) && Object.isFrozen(summary?.tools) && Object.isFrozen(summary?.error_log)).toBe(
        true,
      );
      expect(runSummary(entries)).toEqual(summary);
      for (const count of entries.keys()) expect(runSummary(entries.slice(0, count))).toBeNull();
    }),
  );
});

verifies("M-P4a", "tools count what the budget counts, and calls add up", () => {
  fc.assert(
    fc.property(anyRun, ({ entries }) => {
      const summary = runSummary(entries) as RunSummary;
      const commit = entries.findLast((entry) => entry.kind === "COMMIT");
      const used = Object.values(summary.tools);
      const performed = used.reduce((sum, tool) => sum + tool.performed, 0);
      const failed = used.reduce((sum, tool) => sum + tool.failed, 0);
      expect(performed).toBe(commit?.decided.budget.performed);
      expect(performed - failed).toBe(commit?.decided.budget.succeeded);
      expect(summary.calls.proposed).toBeGreaterThanOrEqual(summary.calls.refused + summary.calls.skipped + performed);
      expect(summary.calls.duplicate).toBeLessThanOrEqual(Math.max(0, summary.calls.proposed - 1));
    }),
  );
});

verifies("M-P4a", "outcome, tools used, steps, spending, timing and errors, of one run in full", () => {
  const turns: readonly TurnScript[] = [
    { kind: "rejected" },
    calls(call("http.get"), call("http.get", { shares: true }), call("fs.write_text", { decision: "deny" })),
    calls(call("http.get", { end: "timeout" }), call("http.get", { arg: 2, end: "error" })),
  ];
  const { entries, contract } = writeRun(turns, "answered");
  expect(runSummary(entries)).toEqual({
    run_id: "run_1",
    contract_hash: contract.contractHash,
    head_hash: entries.at(-1)?.hash,
    outcome: "COMPLETED_WITH_TOOLS",
    reason: null,
    steps: 4,
    inferences: 4,
    format_retries: 1,
    tokens: 40,
    spend_microusd: 12,
    tool_output_bytes: 0,
    elapsed_ms: entries.length * 100,
    wall_ms: entries.length * 1000,
    tools: { "http.get": { performed: 3, failed: 2 } },
    calls: { proposed: 5, refused: 1, skipped: 0, duplicate: 2 },
    error_log: [
      { step_id: "step-1", state: "INFER", code: "marker.unclosed", tool: null },
      { step_id: "step-2", state: "VALIDATE_CALLS", code: "tool.input_invalid", tool: "fs.write_text" },
      { step_id: "step-3", state: "OBSERVE", code: "timeout", tool: "http.get" },
      { step_id: "step-3", state: "OBSERVE", code: "internal.error", tool: "http.get" },
    ],
    escalation_attempts: [],
    labels: USER_LABELS,
  });
});

test("the same arguments to another tool are no duplicate", () => {
  const { calls: counted } = summaryOf(
    [calls(call("http.get"), call("fs.read_text"), call("fs.read_text"))],
    "answered",
  );
  expect(counted.duplicate).toBe(1);
});

describe("the error log", () => {
  test("a failed preflight", () => {
    expect(codesOf([], "preflight-failed")).toEqual([
      ["step-0", "PRECHECK", "contract.invalid", null],
      ["step-0", "TERMINATE", "contract.invalid", null],
    ]);
  });

  test("a provider that failed", () => {
    expect(codesOf([{ kind: "unreachable" }], "answered")).toEqual([["step-1", "INFER", "http.503", null]]);
  });

  test("a run cut short logs its calls but for the skipped one, and no inference that was interrupted", () => {
    expect(codesOf([], "cut-cancelled")).toEqual([
      ["step-1", "OBSERVE", "invalid.request", "http.get"],
      ["step-1", "OBSERVE", "internal.error", "fs.read_text"],
      ["step-1", "TERMINATE", "run.cancelled", null],
    ]);
    expect(codesOf([], "timed-out-inferring")).toEqual([["step-1", "TERMINATE", "run.timeout", null]]);
  });
});

test("calls that the end of the run cut short count for no tool", () => {
  expect(summaryOf([], "cut-cancelled")).toMatchObject({ tools: {}, calls: { proposed: 3, refused: 0, skipped: 1 } });
});

test("an escalation keeps its attempts by tool and code", () => {
  expect(summaryOf([], "escalated").escalation_attempts).toEqual([
    { tool: "http.get", code: "internal.error" },
    { tool: "fs.read_text", code: null },
  ]);
});

test.each(["2026-02-14T00:00:00Z", "no time"])("a clock that says %s at the end makes no strange time", (ts) => {
  const { entries } = writeRun([], "answered");
  const back = entries.map((entry) => (entry.kind === "TERMINATE" ? { ...entry, ts } : entry));
  expect(runSummary(back)?.wall_ms).toBe(0);
});

test("a first event with no time makes no strange time either", () => {
  const { entries } = writeRun([], "cancelled-queued");
  const timeless = entries.map((entry) =>
    entry.kind === "run.created"
      ? { ...entry, decided: { ...entry.decided, heard: entry.decided.heard.map((event) => ({ ...event, ts: "" })) } }
      : entry,
  );
  expect(runSummary(timeless)?.wall_ms).toBe(0);
});

test("without a first event the time runs from the first entry", () => {
  const { entries } = writeRun([], "answered");
  const silent = entries.map((entry) =>
    entry.kind === "run.created" ? { ...entry, decided: { ...entry.decided, heard: [] } } : entry,
  );
  expect(runSummary(silent)?.wall_ms).toBe((entries.length - 1) * 1000);
});
