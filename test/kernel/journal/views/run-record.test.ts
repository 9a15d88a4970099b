import fc from "fast-check";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { genesisHash } from "../../../../src/kernel/journal/chain.ts";
import { type RunParticulars, RunRecordSchema, runRecord } from "../../../../src/kernel/journal/views/run-record.ts";
import { digestOf, snapshotOfEntries } from "../../../../src/kernel/journal/views/run-snapshot.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../../requirements.ts";
import { anyRun } from "./any-run.ts";
import { call, calls, type RunEnd } from "./run-script.ts";
import { RUN_ID, type Run, writeRun } from "./write-run.ts";

const isValid = Compile(RunRecordSchema);
const particulars = (run: Run, changes: Partial<RunParticulars> = {}): RunParticulars => ({
  runId: RUN_ID,
  contractHash: run.contract.contractHash,
  agentId: "main",
  sessionId: "session-1",
  source: "http",
  status: "running",
  artifactPath: "agents/main/runs/run_1",
  provider: "acme",
  model: "large",
  thinkingMode: "on_error",
  summarize: ({ tool, args, ok, output }) => JSON.stringify([tool, args, ok, output]),
  ...changes,
});
const recordOf = (run: Run, changes: Partial<RunParticulars> = {}, entries = run.entries) =>
  runRecord(entries, particulars(run, changes), run.lookup);

verifies(
  "O-5.4",
  "a record has the published shape at every moment, and its head and digest are the snapshot's",
  () => {
    fc.assert(
      fc.property(anyRun, fc.nat(), (run, cut) => {
        const entries = run.entries.slice(0, cut % (run.entries.length + 1));
        const record = recordOf(run, {}, entries);
        const snapshot = snapshotOfEntries(RUN_ID, run.contract.contractHash, entries);
        expect(isValid.Check(record)).toBe(true);
        expect(record).toMatchObject({
          head_hash: snapshot.head,
          state_digest: digestOf(snapshot),
          outcome: snapshot.outcome,
        });
      }),
    );
  },
);

verifies("O-5.4", "one record in full: the answer, performed calls, and a result for every call", () => {
  const run = writeRun(
    [calls(call("http.get"), call("http.get", { end: "error" }), call("fs.write_text", { decision: "deny-by-user" }))],
    "answered",
  );
  expect(recordOf(run)).toEqual({
    id: "run_1",
    agent_id: "main",
    source: "http",
    session_id: "session-1",
    status: "completed",
    outcome: "COMPLETED_WITH_TOOLS",
    reason: null,
    output: "canary text 2",
    artifact_path: "agents/main/runs/run_1",
    duration_ms: run.entries.length * 100,
    tool_calls: 2,
    provider: "acme",
    model: "large",
    thinking_mode: "on_error",
    contract_hash: run.contract.contractHash,
    head_hash: run.entries.at(-1)?.hash,
    state_digest: digestOf(snapshotOfEntries(RUN_ID, run.contract.contractHash, run.entries)),
    usage: { input_tokens: 16, output_tokens: 4 },
    trace: {
      tool_execution_results: [
        {
          tool: "fs.write_text",
          tool_call_id: "t3",
          summary: '["fs.write_text",{"n":"canary 1"},false,null]',
          output: "",
          error: "policy.denied: Not run: denied by user (owner).",
        },
        {
          tool: "http.get",
          tool_call_id: "t1",
          summary: '["http.get",{"n":"canary 1"},true,{"text":"canary output"}]',
          output: '{"text":"canary output"}',
          error: "",
          labels: USER_LABELS,
          truncated: true,
        },
        {
          tool: "http.get",
          tool_call_id: "t2",
          summary: '["http.get",{"n":"canary 1"},false,null]',
          output: "",
          error: "internal.error: canary went wrong",
          labels: USER_LABELS,
        },
      ],
    },
  });
});

describe("status", () => {
  const ends: readonly (readonly [RunEnd, string])[] = [
    ["answered", "completed"],
    ["escalated", "failed"],
    ["cancelled-inferring", "cancelled"],
  ];
  test.each(ends)("a run that ended %s is %s, whatever its runner believes", (end, status) => {
    expect(recordOf(writeRun([], end), { status: "waiting_approval" }).status).toBe(status);
  });

  test.each(["queued", "running", "waiting_approval"] as const)(
    "a run that has not ended is %s as its runner says",
    (status) => {
      const run = writeRun([], "answered");
      expect(recordOf(run, { status }, run.entries.slice(0, -1)).status).toBe(status);
    },
  );
});

test("a queued run has a record already", () => {
  const run = writeRun([], "answered");
  const { source: _source, ...unsourced } = particulars(run, { status: "queued" });
  const record = runRecord([], unsourced, run.lookup);
  expect(isValid.Check(record)).toBe(true);
  expect(record).not.toHaveProperty("source");
  expect(record).toMatchObject({
    status: "queued",
    outcome: null,
    reason: null,
    output: "",
    duration_ms: 0,
    tool_calls: 0,
    head_hash: genesisHash(run.contract.contractHash),
    trace: { tool_execution_results: [] },
  });
});

test("a failed run has no output but an escalation's question", () => {
  expect(recordOf(writeRun([], "unavailable")).output).toBe("");
  expect(recordOf(writeRun([], "escalated")).output).toContain("How should I continue?");
});

verifies("X-25", "an erased answer is shown as erased", () => {
  const run = writeRun([], "answered");
  expect(runRecord(run.entries, particulars(run), () => null).output).toBe("[erased]");
});
