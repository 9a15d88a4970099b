/** How many read-only calls a turn may make, by the contract's policy state. */
import { expect } from "vitest";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import { NEUTRAL_STATE } from "../../../src/kernel/governance/policy-state.ts";
import { skippedOutcome } from "../../../src/kernel/journal/views/call-outcome.ts";
import { verifies } from "../../requirements.ts";
import {
  batch,
  begin,
  contractOf,
  finished,
  lastCommands,
  lastEntry,
  outcomeOf,
  plan,
  play,
  playOn,
} from "./scripted-run.ts";

const read = (id: string) => plan({ id, tool: "fs.read_text", args: id });
const write = (id: string) => plan({ id, tool: "fs.write_text", args: id });
const under = (autonomyBias: number, terms: Partial<ContractTerms> = {}) =>
  play(contractOf({ policyState: { ...NEUTRAL_STATE, autonomyBias }, ...terms }), [
    ...begin(),
    ...batch(1, [read("a"), read("b"), read("c"), write("d")]),
  ]);
const dispatched = (run: ReturnType<typeof under>): readonly string[] =>
  lastCommands(run).flatMap((command) => ("callId" in command ? [command.callId] : []));

verifies("M-P4c/parameters", "a turn makes as many read-only calls as its contract's autonomy bias gives it", () => {
  expect([0, -1, -2, -3].map((bias) => dispatched(under(bias)))).toEqual([
    ["a", "b", "c"],
    ["a", "b", "c"],
    ["a", "b"],
    ["a"],
  ]);
});

verifies("M-P4c/parameters", "what is beyond the limit is skipped with a sentence, and counts as no failure", () => {
  const run = playOn(under(-2), [finished("a"), finished("b")]);
  const policyId = "governance.turn-limit";
  const { skipped, recovery } = lastEntry(run, "COMMIT").decided;
  expect(skipped).toEqual([
    { callId: "c", policyId },
    { callId: "d", policyId },
  ]);
  expect([recovery.failuresInARow, outcomeOf(run)]).toEqual([0, "INFER"]);
  expect(skippedOutcome(policyId)).toMatchObject({
    ok: false,
    performed: false,
    error: { code: "invalid.request", message: expect.stringContaining("propose it again") },
  });
});

verifies(
  ["M-P4h/replay", "M-P4c/parameters"],
  "a run of an earlier machine, or under strict mode, makes the whole batch",
  () => {
    expect(dispatched(under(-3, { machineVersion: 4 }))).toEqual(["a", "b", "c"]);
    expect(dispatched(under(-3, { strictMode: true, toolPolicy: "required", tokenGate: true }))).toEqual([
      "a",
      "b",
      "c",
    ]);
    const contract = contractOf();
    const events = [...begin(), ...batch(1, [read("a"), read("b"), read("c"), write("d")])];
    expect(dispatched(play(contract, events))).toEqual(["a", "b", "c"]);
  },
);
