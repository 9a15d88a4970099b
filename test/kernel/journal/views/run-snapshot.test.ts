import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { genesisHash } from "../../../../src/kernel/journal/chain.ts";
import type { Entry, MachineState } from "../../../../src/kernel/journal/entry.ts";
import { digestOf, type RunSnapshot, snapshotOfEntries } from "../../../../src/kernel/journal/views/run-snapshot.ts";
import { hashCanonical } from "../../../../src/kernel/vocabulary/hash.ts";
import { asRunId } from "../../../../src/kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, UNTRUSTED_LABELS, USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../../requirements.ts";
import { anyRun } from "./any-run.ts";
import { hashOf } from "./canned-events.ts";
import { call, calls } from "./run-script.ts";
import { RUN_ID, type Run, writeRun } from "./write-run.ts";

const snapshotAfter = ({ entries, contract }: Run, count: number): RunSnapshot =>
  snapshotOfEntries(RUN_ID, contract.contractHash, entries.slice(0, count));
const unspent = {
  inferences: 0,
  formatRetries: 0,
  tokens: 0,
  toolOutputBytes: 0,
  spendMicrousd: 0,
  performed: 0,
  succeeded: 0,
};

verifies("M-D", "before its first entry a run is in PRECHECK, at the head its contract gives it", () => {
  const run = writeRun([], "answered");
  expect(snapshotAfter(run, 0)).toEqual({
    runId: RUN_ID,
    contractHash: run.contract.contractHash,
    seq: 0,
    head: genesisHash(run.contract.contractHash),
    state: "PRECHECK",
    stepId: "step-0",
    outcome: null,
    reason: null,
    budget: unspent,
    labels: CLEAN_LABELS,
  });
});

verifies("M-D", "the state and the step follow from the last entry", () => {
  const run = writeRun([calls(call("http.get"))], "answered");
  const expected: readonly (readonly [Entry["kind"], MachineState, string])[] = [
    ["run.created", "INFER", "step-1"],
    ["INFER", "VALIDATE_CALLS", "step-1"],
    ["VALIDATE_CALLS", "EXECUTE", "step-1"],
    ["EXECUTE", "OBSERVE", "step-1"],
    ["OBSERVE", "OBSERVE", "step-1"],
    ["COMMIT", "INFER", "step-2"],
    ["INFER", "VALIDATE_CALLS", "step-2"],
    ["VALIDATE_CALLS", "COMMIT", "step-2"],
    ["COMMIT", "TERMINATE", "step-2"],
    ["TERMINATE", "TERMINATE", "step-2"],
  ];
  expect(
    run.entries.map(({ kind }, index) => {
      const { state, stepId } = snapshotAfter(run, index + 1);
      return [kind, state, stepId];
    }),
  ).toEqual(expected);
});

test("a batch of which nothing is allowed goes to COMMIT, and so does a failed preflight", () => {
  const denied = writeRun([calls(call("http.get", { decision: "deny" }))], "answered");
  expect(snapshotAfter(denied, 3).state).toBe("COMMIT");
  const half = writeRun([calls(call("http.get", { decision: "deny" }), call("http.get"))], "answered");
  expect(snapshotAfter(half, 3).state).toBe("EXECUTE");
  expect(snapshotAfter(writeRun([], "preflight-failed"), 1)).toMatchObject({ state: "COMMIT", stepId: "step-0" });
});

verifies("M-D", "outcome and reason appear with the last entry and not before", () => {
  fc.assert(
    fc.property(anyRun, (run) => {
      const last = run.entries.at(-1);
      const { outcome, reason } = snapshotAfter(run, run.entries.length);
      expect(last?.kind === "TERMINATE" && last.decided).toMatchObject({ outcome, reason });
      for (const index of run.entries.keys()) {
        expect(snapshotAfter(run, index)).toMatchObject({ outcome: null, reason: null });
      }
    }),
  );
});

test("seq, head and labels are the last entry's, the budget the last COMMIT's", () => {
  fc.assert(
    fc.property(anyRun, (run) => {
      for (const [index, entry] of run.entries.entries()) {
        const commit = run.entries.slice(0, index + 1).findLast(({ kind }) => kind === "COMMIT");
        expect(snapshotAfter(run, index + 1)).toMatchObject({
          seq: index + 1,
          head: entry.hash,
          labels: entry.labels,
          budget: commit?.kind === "COMMIT" ? commit.decided.budget : unspent,
        });
      }
    }),
  );
});

describe("the digest", () => {
  const run = writeRun([calls(call("http.get"))], "cut-cancelled");
  const snapshot = snapshotAfter(run, run.entries.length);

  verifies(["M-D", "M-P3"], "equal snapshots have equal digests, whoever built them and in whatever order", () => {
    const { runId, ...others } = snapshot;
    expect(digestOf({ ...others, runId })).toBe(digestOf(snapshot));
    expect(digestOf(snapshotAfter(writeRun([calls(call("http.get"))], "cut-cancelled"), run.entries.length))).toBe(
      digestOf(snapshot),
    );
  });

  verifies("M-D", "any changed field changes the digest", () => {
    const changes: readonly Partial<RunSnapshot>[] = [
      { runId: asRunId("run_2") },
      { contractHash: hashOf("another contract") },
      { seq: snapshot.seq + 1 },
      { head: hashOf("another head") },
      { state: "OBSERVE" },
      { stepId: "step-9" },
      { outcome: null },
      { reason: "effect.unresolved" },
      { budget: { ...snapshot.budget, spendMicrousd: snapshot.budget.spendMicrousd + 1 } },
      { labels: UNTRUSTED_LABELS },
    ];
    expect(changes.flatMap((change) => Object.keys(change)).toSorted()).toEqual(Object.keys(snapshot).toSorted());
    const digests = changes.map((change) => digestOf({ ...snapshot, ...change }));
    expect(new Set([...digests, digestOf(snapshot)]).size).toBe(changes.length + 1);
  });

  test("it covers the wire spelling, so that anyone can recompute it", () => {
    expect(digestOf(snapshot)).toBe(
      hashCanonical({
        run_id: "run_1",
        contract_hash: run.contract.contractHash,
        seq: run.entries.length,
        head: run.entries.at(-1)?.hash,
        state: "TERMINATE",
        step_id: "step-2",
        outcome: "INTERRUPTED",
        reason: "run.cancelled",
        budget: {
          inferences: 2,
          format_retries: 0,
          tokens: 20,
          tool_output_bytes: 0,
          spend_microusd: 6,
          performed: 1,
          succeeded: 1,
        },
        labels: USER_LABELS,
      }),
    );
  });
});
