/** under the contract's grammar even random weights make whole and valid calls. */
import { expect } from "vitest";
import { verifies } from "../../requirements.ts";
import { bundleOf, endOf, openLocal, runLocal, STRICT, submitLocal } from "./local-home.ts";
import { PROBE } from "./probe-tool.ts";

const RUNS = 12;

verifies(
  ["X-9/strict", "M-P5.2/applied", "M-P5.2/policy"],
  "strict required runs of random weights perform a valid call, every one",
  async () => {
    const { surety } = await openLocal();
    for (let index = 0; index < RUNS; index += 1) {
      const run = await runLocal(surety, `look, ${index}`);
      expect(run).toMatchObject({ reason: "budget.inferences" });
      expect(run.tool_calls).toBeGreaterThan(0);
    }
    const runId = await submitLocal(surety, "look again", STRICT);
    await endOf(surety, runId);
    const { contract, entries } = await bundleOf(surety, runId);
    expect(contract).toMatchObject({ grammar_profile: "calls", token_gate: true, adapter_version: "grammar-json@1" });
    expect(contract.grammar).toContain(`\\"tool\\":\\"${PROBE.name}\\"`);
    const answered = entries.find(({ kind }: { kind: string }) => kind === "INFER").result;
    expect(answered.adapter).toEqual({ failure_code: null, status: "native", version: "grammar-json@1" });
    expect(answered.fingerprint).toMatch(/^gguf:[0-9a-f]{32} node-llama-cpp@3\.22\.1 llama\.cpp@\S+ cpu$/);
  },
);

verifies("X-9/strict", "with the grammar off no run of the same model performs a call", async () => {
  const { surety } = await openLocal();
  const contract = { ...STRICT, strictMode: false, grammarProfile: "off", maxFormatRetries: 0, maxOutputTokens: 64 };
  for (let index = 0; index < 3; index += 1) {
    const run = await runLocal(surety, `look, ${index}`, contract);
    expect(run).toMatchObject({ outcome: "FAILED_PROTOCOL_MALFORMED", tool_calls: 0 });
  }
});

verifies("M-P5.2/preflight", "a strict required run that switches the grammar off fails preflight", async () => {
  const { surety } = await openLocal();
  const run = await runLocal(surety, "look", { ...STRICT, grammarProfile: "off" });
  expect(run).toMatchObject({ outcome: "FAILED_PREFLIGHT", reason: "contract.profile-incompatible" });
});
