import { expect } from "vitest";
import type { ExecutionContract } from "../../../src/kernel/contract/contract.ts";
import type { RunState } from "../../../src/kernel/machine/state.ts";
import { unknownAdapter } from "../../../src/runtime/model/call-model.ts";
import { verifies } from "../../requirements.ts";

verifies("M-P5.4", "a contract with the adapter of a later version is refused by name, and nothing is sent", () => {
  const stateOf = (adapterVersion: string) => ({ contract: { adapterVersion } as ExecutionContract }) as RunState;
  const call = { attempt: 3 } as Parameters<typeof unknownAdapter>[0];
  for (const known of ["native-tools@1", "native-tools@2", "grammar-json@1"]) {
    expect(unknownAdapter(call, stateOf(known))).toBeNull();
  }
  expect(unknownAdapter(call, stateOf("native-tools@9"))).toEqual({
    ...{ type: "model.failed", attempt: 3, code: "adapter.unknown", retryable: false, retryAfterMs: 0 },
    usage: { inputTokens: 0, outputTokens: 0, costMicrousd: 0 },
  });
});
