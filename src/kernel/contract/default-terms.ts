/** The default terms of a run. */
import type { ToolPolicy } from "../policy/tool-policy.ts";
import { type ContractTerms, MACHINE_VERSION } from "./contract.ts";

/** Fail-closed but usable: reading is free, everything that acts asks. */
export const DEFAULT_POLICY: ToolPolicy = {
  sideEffects: "enabled",
  allow: ["*"],
  channels: { cli_local: ["*"] },
  risk: { read_only: "allow", draft_only: "allow", side_effect: "approve" },
  exceptions: [],
  honeypot: { templates: [], recipientTypes: [], perHour: 0 },
  allowDomains: null,
};

export const DEFAULT_TERMS = {
  version: "2.3",
  parentContractHash: null,
  toolPolicy: "optional",
  strictMode: false,
  maxInferences: 10,
  maxTokensConsumed: 200_000,
  maxFormatRetries: 1,
  stepTimeoutMs: 120_000,
  totalTimeoutMs: 600_000,
  contextBudget: {
    contextWindow: 32_768,
    reservedSystem: 2_048,
    reservedSynthesis: 2_048,
    forceSynthesisAtRatio: 0.85,
  },
  toolOutputBudget: { maxBytesPerCall: 20_000, truncationMarker: "\n[… truncated]", summarizerModel: null },
  grammarProfile: null,
  grammar: null,
  logitsMask: null,
  tokenGate: false,
  speculativeExec: false,
  cycleForbid: [],
  machineVersion: MACHINE_VERSION,
  maxOutputTokens: 2_048,
  maxSpendMicrousd: null,
  requiredEffects: [],
  policy: DEFAULT_POLICY,
  channelClass: "cli_local",
  capabilities: [],
  approvedTools: [],
  depth: 0,
  policyState: null,
  outputSchema: null,
} as const satisfies Partial<ContractTerms>;
