/**
 * A contract out of a seed: mostly one that a run can work under, with limits small enough to be reached; now and then
 * one that preflight must refuse.
 */
import { type ContractTerms, type ExecutionContract, MACHINE_VERSION } from "../../src/kernel/contract/contract.ts";
import { DEFAULT_POLICY, DEFAULT_TERMS } from "../../src/kernel/contract/default-terms.ts";
import { sealContract, sealSeed } from "../../src/kernel/contract/seal-contract.ts";
import { type SeedContract, seedFieldsOf } from "../../src/kernel/contract/seed-contract.ts";
import { NEUTRAL_STATE } from "../../src/kernel/governance/policy-state.ts";
import type { ToolPolicy } from "../../src/kernel/policy/tool-policy.ts";
import { ADAPTER_VERSIONS } from "../../src/kernel/protocol/adapter-for.ts";
import { hashCanonical } from "../../src/kernel/vocabulary/hash.ts";
import { derive, type Random } from "./random.ts";
import { TOOL_NAMES } from "./tool-catalog.ts";

export const TOOLS_DIGEST = hashCanonical(TOOL_NAMES);
export const MODEL_PROFILE = "simulated";

/** What contracts require the effect of. */
const PROVABLE_TOOLS: readonly string[] = ["fs.read_text", "fs.write_text", "mail.send", "notes.draft"];

export function generateContract(seed: number): ExecutionContract {
  const random = derive(seed, "contract");
  if (random.chance(15)) return seedContract(random);
  const terms = { ...currentTerms(random), policyState: anyPolicyState(derive(seed, "policy-state")) };
  return sealContract(random.chance(5) ? spoil(terms, random) : terms);
}

function currentTerms(random: Random): ContractTerms {
  const toolPolicy = random.weigh({ required: 40, optional: 46, forbidden: 14 });
  const policy = anyPolicy(random);
  return {
    ...DEFAULT_TERMS,
    ...anyLimits(random),
    contractId: "contract_simulated",
    toolPolicy,
    strictMode: toolPolicy === "optional" ? random.chance(2) : random.chance(45),
    tokenGate: random.chance(30),
    allowedTools: anyAllowedTools(random),
    toolsDigest: TOOLS_DIGEST,
    adapterVersion: random.pick(ADAPTER_VERSIONS),
    modelProfileId: MODEL_PROFILE,
    model: "simulated:model",
    maxOutputTokens: random.pick([64, 256, 1024]),
    maxSpendMicrousd: random.chance(35) ? random.between(500, 60_000) : null,
    requiredEffects: toolPolicy !== "forbidden" && random.chance(25) ? [anyEffect(random)] : [],
    cycleForbid: random.chance(12) ? Array.from({ length: 6 }, () => anyPair(random)) : [],
    policy,
    channelClass: random.weigh({ cli_local: 75, external_message: 15, external_email: 10 }),
    capabilities: random.pick([["net"], ["net"], ["net:example.org"], []]),
    approvedTools: random.chance(12) ? [random.pick(TOOL_NAMES)] : [],
  };
}

function anyPolicyState(random: Random): ContractTerms["policyState"] {
  if (random.chance(70)) return null;
  return { ...NEUTRAL_STATE, autonomyBias: random.pick([0, -1, -2, -3]), critiqueEnabled: random.chance(50) };
}

/** Version 2.1: the seed's fields only, the rest as opening such a document fills it in. */
function seedContract(random: Random): ExecutionContract {
  const terms = currentTerms(random);
  const toolPolicy = terms.toolPolicy === "optional" ? "required" : terms.toolPolicy;
  const tokenGate = terms.tokenGate || (terms.strictMode && toolPolicy === "required");
  const allowedTools = random.chance(30) ? null : terms.allowedTools;
  return sealSeed({ ...seedFieldsOf(terms), toolPolicy, tokenGate, allowedTools } as SeedContract);
}

function anyLimits(random: Random) {
  const contextWindow = random.pick([1_024, 2_048, 8_192, 32_768]);
  const stepTimeoutMs = random.pick([400, 3_000, 6_000, 30_000]);
  return {
    maxInferences: random.pick([1, 3, 8, 10, 12, 16]),
    maxTokensConsumed: random.chance(20) ? random.between(700, 6_000) : 200_000,
    maxFormatRetries: random.chance(70) ? 1 : 0,
    stepTimeoutMs,
    totalTimeoutMs: stepTimeoutMs * random.pick([1, 2, 5, 20]),
    contextBudget: {
      contextWindow,
      reservedSystem: random.between(32, 256),
      reservedSynthesis: random.between(32, 256),
      forceSynthesisAtRatio: random.pick([0.4, 0.6, 0.85, 1]),
    },
    toolOutputBudget: {
      maxBytesPerCall: random.pick([24, 200, 20_000]),
      truncationMarker: "[… cut]",
      summarizerModel: null,
    },
  };
}

function anyAllowedTools(random: Random): string[] {
  if (random.chance(30)) return [...TOOL_NAMES];
  return TOOL_NAMES.filter((name) => PROVABLE_TOOLS.includes(name) || random.chance(70));
}

function anyPair(random: Random): [string, string] {
  return [random.pick(TOOL_NAMES), random.pick(TOOL_NAMES)];
}

function anyEffect(random: Random): ContractTerms["requiredEffects"][number] {
  const tool = random.pick(PROVABLE_TOOLS);
  if (random.chance(30)) return { tool: `${tool.split(".")[0]}.*` };
  return random.chance(50) ? { tool } : { tool, args: { target: "proof" } };
}

function anyPolicy(random: Random): ToolPolicy {
  return {
    ...DEFAULT_POLICY,
    sideEffects: random.chance(5) ? "disabled" : "enabled",
    allow: random.chance(85) ? ["*"] : TOOL_NAMES.filter(() => random.chance(70)),
    channels: random.chance(90)
      ? { cli_local: ["*"], external_message: ["*"], external_email: ["fs.*", "mail.send"] }
      : {},
    risk: {
      read_only: random.chance(95) ? "allow" : "approve",
      draft_only: random.chance(90) ? "allow" : "approve",
      side_effect: random.weigh({ allow: 55, approve: 40, deny: 5 }),
    },
    exceptions: random.chance(20)
      ? [{ tool: random.pick(TOOL_NAMES), decision: random.pick(["allow", "approve", "deny"] as const) }]
      : [],
    allowDomains: random.chance(80) ? null : ["example.org"],
  };
}

/** One thing wrong with the contract, which preflight must notice. */
function spoil(terms: ContractTerms, random: Random): ContractTerms {
  const { contextBudget } = terms;
  return {
    ...terms,
    ...random.pick<Partial<ContractTerms>>([
      { maxFormatRetries: 5 },
      { maxInferences: 0 },
      { stepTimeoutMs: 0 },
      { totalTimeoutMs: 0 },
      { speculativeExec: true },
      { machineVersion: MACHINE_VERSION + 1 },
      { maxTokensConsumed: 10 },
      { maxOutputTokens: 1 },
      { depth: 4 },
      { modelProfileId: "another" },
      { adapterVersion: "another@1" },
      { grammarProfile: "unheard-of" },
      { allowedTools: ["rocket.launch"] },
      { allowedTools: [], toolPolicy: "required" },
      { toolPolicy: "forbidden", requiredEffects: [{ tool: "fs.read_text" }] },
      { requiredEffects: [{ tool: "rocket.*" }] },
      { contextBudget: { ...contextBudget, forceSynthesisAtRatio: 0 } },
      { contextBudget: { ...contextBudget, contextWindow: 64 } },
      { contextBudget: { ...contextBudget, reservedSystem: contextBudget.contextWindow } },
    ]),
  };
}
