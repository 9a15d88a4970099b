import { describe, expect, test } from "vitest";
import {
  type ContractTerms,
  ContractTermsSchema,
  type ExecutionContract,
} from "../../../src/kernel/contract/contract.ts";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import { openContract } from "../../../src/kernel/contract/open-contract.ts";
import { deepFreeze, hashTerms, isSealIntact } from "../../../src/kernel/contract/seal-contract.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../requirements.ts";
import { contractOf, POLICY_STATE } from "../machine/scripted-run.ts";
import { seedDocument } from "./seed-document.ts";

/** Another lawful value for every single term. */
const OTHER: Omit<ExecutionContract, "contractHash"> = {
  contractId: "contract_2",
  parentContractHash: hashBytes("parent"),
  toolPolicy: "forbidden",
  allowedTools: ["fs.read_text"],
  strictMode: true,
  maxInferences: 11,
  maxTokensConsumed: 200_001,
  maxFormatRetries: 0,
  stepTimeoutMs: 120_001,
  totalTimeoutMs: 600_001,
  contextBudget: {
    contextWindow: 32_768,
    reservedSystem: 2_048,
    reservedSynthesis: 2_048,
    forceSynthesisAtRatio: 0.86,
  },
  toolOutputBudget: { maxBytesPerCall: 20_001, truncationMarker: "\n[… truncated]", summarizerModel: null },
  adapterVersion: "native-tools@2",
  modelProfileId: "other",
  grammarProfile: "json",
  grammar: "root ::= object",
  logitsMask: [0, 1],
  tokenGate: true,
  speculativeExec: true,
  cycleForbid: [["fs.read_text", "http.get"]],
  version: "2.1",
  policyState: POLICY_STATE,
  outputSchema: { type: "object" },
  machineVersion: 1,
  toolsDigest: hashBytes("other tools"),
  model: "builtin:other",
  maxOutputTokens: 2_049,
  maxSpendMicrousd: 0,
  requiredEffects: [{ tool: "fs.*" }],
  routing: { task: "chat", tier: "cheap", reason: "another" },
  policy: { ...DEFAULT_POLICY, sideEffects: "disabled" },
  channelClass: "external_email",
  capabilities: ["net"],
  approvedTools: ["http.get"],
  depth: 1,
};
const TERMS = Object.keys(ContractTermsSchema.properties) as (keyof ContractTerms)[];

function everyObject(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(everyObject)];
}

describe("the hash of a contract", () => {
  test("covers the terms in wire spelling, grammar and mask by their own hash, and never itself", () => {
    const sealed = contractOf({ grammar: "root ::= object", logitsMask: [0, 0.5] });
    expect(sealed.contractHash).toBe(
      hashCanonical({
        version: "2.3",
        policy_state: null,
        output_schema: null,
        contract_id: "contract_1",
        parent_contract_hash: null,
        tool_policy: "optional",
        allowed_tools: ["agent.delegate", "fs.list_dir", "fs.read_text", "fs.write_text", "http.get", "job.poll"],
        strict_mode: false,
        max_inferences: 10,
        max_tokens_consumed: 200_000,
        max_format_retries: 1,
        step_timeout_ms: 120_000,
        total_timeout_ms: 600_000,
        context_budget: {
          context_window: 32_768,
          reserved_system: 2_048,
          reserved_synthesis: 2_048,
          force_synthesis_at_ratio: 0.85,
        },
        tool_output_budget: {
          max_bytes_per_call: 20_000,
          truncation_marker: "\n[… truncated]",
          summarizer_model: null,
        },
        adapter_version: "native-tools@1",
        model_profile_id: "native-tools",
        grammar_profile: null,
        grammar: hashCanonical("root ::= object"),
        logits_mask: hashCanonical([0, 0.5]),
        token_gate: false,
        speculative_exec: false,
        cycle_forbid: [],
        machine_version: 5,
        tools_digest: hashBytes("tools"),
        model: "builtin:demo",
        max_output_tokens: 2_048,
        max_spend_microusd: null,
        required_effects: [],
        policy: {
          side_effects: "enabled",
          allow: ["*"],
          channels: { cli_local: ["*"] },
          risk: { read_only: "allow", draft_only: "allow", side_effect: "allow" },
          exceptions: [],
          honeypot: { templates: [], recipient_types: [], per_hour: 0 },
          allow_domains: null,
        },
        channel_class: "cli_local",
        capabilities: [],
        approved_tools: [],
        depth: 0,
      }),
    );
  });

  test("an absent grammar and mask are null under it", () => {
    const { contractHash, ...terms } = contractOf();
    expect(hashTerms({ ...terms, grammar: "", logitsMask: [] })).not.toBe(contractHash);
  });

  verifies("M-B", "changing any single term is noticed, whichever it is", () => {
    const sealed = contractOf();
    expect(Object.keys(OTHER).sort()).toEqual([...TERMS].sort());
    for (const term of TERMS) {
      const swapped: ExecutionContract = { ...sealed, [term]: OTHER[term] };
      expect([term, isSealIntact(swapped)]).toEqual([term, false]);
      expect([term, hashTerms(swapped)]).not.toEqual([term, sealed.contractHash]);
    }
    expect(isSealIntact(sealed)).toBe(true);
    expect(isSealIntact({ ...sealed })).toBe(true);
  });

  test("does not depend on the order in which terms were written", () => {
    const sealed = contractOf();
    const reversed = Object.fromEntries(Object.entries(sealed).reverse()) as ExecutionContract;
    expect(hashTerms(reversed)).toBe(sealed.contractHash);
  });

  verifies("M-P5.4", "of a version 2.1 contract covers exactly the seed's fields", () => {
    const { contract_hash, ...covered } = seedDocument();
    expect(contract_hash).toBe(hashCanonical(covered));
  });
});

describe("sealing", () => {
  verifies("M-B/frozen", "freezes a contract through and through, also below parts that were frozen already", () => {
    const shallow = Object.freeze({ ...contractOf().policy, allow: ["fs.*"], exceptions: [] });
    const sealed = contractOf({ policy: shallow, cycleForbid: [["a", "b"]] });
    const objects = everyObject(sealed);
    expect(objects.length).toBeGreaterThan(15);
    expect(objects.filter((object) => !Object.isFrozen(object))).toEqual([]);
    expect(() => sealed.policy.allow.push("*")).toThrow(TypeError);
    expect(() => Object.assign(sealed, { maxInferences: 99 })).toThrow(TypeError);
  });

  test("deepFreeze leaves what is no object as it is", () => {
    expect([null, 1, "a", undefined].map((value) => deepFreeze(value))).toEqual([null, 1, "a", undefined]);
  });

  verifies(
    "M-7.5/gating",
    "forces the token gate on for strict_mode with required, and touches it nowhere else",
    () => {
      const gated = [true, false].flatMap((strictMode) =>
        (["required", "forbidden", "optional"] as const).map((toolPolicy) => [
          strictMode,
          toolPolicy,
          contractOf({ strictMode, toolPolicy, tokenGate: false }).tokenGate,
          contractOf({ strictMode, toolPolicy, tokenGate: true }).tokenGate,
        ]),
      );
      expect(gated).toEqual([
        [true, "required", true, true],
        [true, "forbidden", false, true],
        [true, "optional", false, true],
        [false, "required", false, true],
        [false, "forbidden", false, true],
        [false, "optional", false, true],
      ]);
    },
  );

  test("hashes the gate it forced, so that the sealed contract is intact", () => {
    const strict = { strictMode: true, toolPolicy: "required" } as const;
    expect(isSealIntact(contractOf({ ...strict, tokenGate: false }))).toBe(true);
    expect(contractOf({ ...strict, tokenGate: false })).toEqual(contractOf({ ...strict, tokenGate: true }));
  });
});

verifies(
  ["M-B", "M-P5.4"],
  "of version 2.1 the derived terms are bound too, though they are not under its hash",
  () => {
    const opened = openContract(seedDocument());
    if (!opened.ok) throw new Error(opened.problem);
    expect(isSealIntact(opened.contract)).toBe(true);
    const changes: readonly Partial<ExecutionContract>[] = [
      { policy: { ...opened.contract.policy, allow: ["*"] } },
      { capabilities: ["net"] },
      { approvedTools: ["fs.write_text"] },
      { maxSpendMicrousd: 1 },
      { depth: 1 },
    ];
    for (const change of changes)
      expect([change, isSealIntact({ ...opened.contract, ...change })]).toEqual([change, false]);
  },
);
