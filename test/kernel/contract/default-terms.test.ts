import { expect } from "vitest";
import { DEFAULT_POLICY, DEFAULT_TERMS } from "../../../src/kernel/contract/default-terms.ts";
import { verifies } from "../../requirements.ts";
import { contractOf } from "../machine/scripted-run.ts";

verifies("T-3.2/default", "a run that says nothing else has ten inferences, and may say something else", () => {
  expect(DEFAULT_TERMS.maxInferences).toBe(10);
  expect(contractOf({ maxInferences: 3 }).maxInferences).toBe(3);
});

verifies("M-4.1/optional", "unless told otherwise, reading is free and acting asks", () => {
  expect(DEFAULT_POLICY.risk).toEqual({ read_only: "allow", draft_only: "allow", side_effect: "approve" });
  expect(DEFAULT_POLICY.channels).toEqual({ cli_local: ["*"] });
  expect(DEFAULT_TERMS.toolPolicy).toBe("optional");
  expect(DEFAULT_TERMS.maxFormatRetries).toBe(1);
  expect(DEFAULT_TERMS.speculativeExec).toBe(false);
});
