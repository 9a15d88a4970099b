import { expect } from "vitest";
import { genesisHash } from "../../../src/kernel/journal/chain.ts";
import { NOTHING_SPENT } from "../../../src/kernel/journal/entry.ts";
import { snapshotOf } from "../../../src/kernel/machine/snapshot.ts";
import { CLEAN_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import { accepted, answered, begin, contractOf, play, RUN_ID } from "./scripted-run.ts";

verifies("M-D", "a snapshot shows where the run stands and how it ended, and nothing before the first entry", () => {
  const contract = contractOf();
  const { contractHash } = contract;
  const common = { runId: RUN_ID, contractHash };
  expect(snapshotOf(play(contract, [accepted()]).state)).toEqual({
    ...common,
    seq: 0,
    head: genesisHash(contractHash),
    state: "PRECHECK",
    stepId: "step-0",
    outcome: null,
    reason: null,
    budget: NOTHING_SPENT,
    labels: CLEAN_LABELS,
  });
  const asked = play(contract, begin());
  expect(snapshotOf(asked.state)).toMatchObject({ seq: 1, state: "INFER", stepId: "step-1", labels: USER_LABELS });
  const done = play(contract, [...begin(), answered(1, { text: "done" })]);
  expect(snapshotOf(done.state)).toMatchObject({
    seq: 5,
    head: done.entries.at(-1)?.hash,
    state: "TERMINATE",
    outcome: "COMPLETED_CHAT_ONLY",
    reason: null,
    budget: { inferences: 1, tokens: 15 },
  });
  const failed = play(contractOf({ toolPolicy: "required" }), [...begin(), answered(1, { text: "done" })]);
  expect(snapshotOf(failed.state)).toMatchObject({
    outcome: "FAILED_PROTOCOL_NO_TOOLS",
    reason: "protocol.no-tool-call",
  });
});
