/** The review of a draft, by the contract's policy state. */
import { expect } from "vitest";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import { NEUTRAL_STATE } from "../../../src/kernel/governance/policy-state.ts";
import { verifies } from "../../requirements.ts";
import {
  answered,
  begin,
  contractOf,
  lastCommands,
  lastEntry,
  outcomeOf,
  play,
  playOn,
  ref,
  rejected,
} from "./scripted-run.ts";

const contract = (terms: Partial<ContractTerms> = {}) =>
  contractOf({ policyState: { ...NEUTRAL_STATE, critiqueEnabled: true }, ...terms });
const said = (attempt: number, text: string | null) => answered(attempt, { text });
const drafted = (terms: Partial<ContractTerms> = {}) => play(contract(terms), [...begin(), said(1, "draft")]);
const answerOf = (run: ReturnType<typeof drafted>) => lastEntry(run, "TERMINATE").result;

verifies("M-P4c/parameters", "a draft is reviewed once, without tools, before the run may end", () => {
  const run = drafted();
  expect(outcomeOf(run)).toBe("INFER");
  expect(lastCommands(run)).toMatchObject([{ type: "call-model", attempt: 2, mode: "critique", tools: [] }]);
  const passed = playOn(run, [said(2, null)]);
  expect(outcomeOf(passed)).toBe("COMPLETED_CHAT_ONLY");
  expect(answerOf(passed)).toEqual({ type: "run.answered", ref: ref("draft") });
  const replaced = playOn(run, [said(2, "corrected")]);
  expect(answerOf(replaced)).toEqual({ type: "run.answered", ref: ref("corrected") });
});

verifies("M-P4c/parameters", "without a review there is no answer", () => {
  const malformed = playOn(drafted(), [rejected(2)]);
  expect(lastCommands(malformed)).toMatchObject([{ type: "call-model", attempt: 3, mode: "critique" }]);
  expect(outcomeOf(playOn(malformed, [rejected(3)]))).toBe("FAILED_PROTOCOL_MALFORMED protocol.malformed");
  expect(answerOf(playOn(malformed, [said(3, null)]))).toEqual({ type: "run.answered", ref: ref("draft") });
  const calling = answered(2, { calls: [{ id: "c1", tool: "fs.read_text" }] });
  expect(outcomeOf(playOn(drafted(), [calling]))).toBe("FAILED_PROTOCOL_MALFORMED protocol.malformed");
  expect(outcomeOf(drafted({ maxInferences: 1 }))).toBe("FAILED_BUDGET_EXHAUSTED budget.inferences");
});

verifies(
  ["M-P4h/replay", "M-P4c/parameters"],
  "a run of an earlier machine, or without the critic, ends with its answer",
  () => {
    expect(outcomeOf(drafted({ machineVersion: 4 }))).toBe("COMPLETED_CHAT_ONLY");
    expect(outcomeOf(drafted({ policyState: NEUTRAL_STATE }))).toBe("COMPLETED_CHAT_ONLY");
    expect(outcomeOf(drafted({ policyState: null }))).toBe("COMPLETED_CHAT_ONLY");
  },
);
