/**
 * Preflight (M-P2b): can this contract be carried out at all, before a single byte goes to a model? The checks run in
 * the order of PREFLIGHT_CHECKS and stop at the first failure, so over budget means that nothing was ever sent.
 */
import { matchesTool } from "../policy/tool-pattern.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { type ExecutionContract, MACHINE_VERSION, SUMMARIZERS_SINCE } from "./contract.ts";
import { LOGITS_MASK } from "./grammar-profile.ts";

/** Tokens a run must have left beside its reserves to make one tool turn worth while (the seed's `minimum_loop_margin`). */
export const MINIMUM_LOOP_MARGIN = 256;
/** Less than this is too short for an answer. */
export const MINIMUM_OUTPUT_TOKENS = 16;
/** How deep delegation may nest. */
export const MAXIMUM_DEPTH = 3;

export const PREFLIGHT_CHECKS = ["context", "structure", "tools", "profile", "backend"] as const;

export interface PreflightVerdict {
  readonly check: (typeof PREFLIGHT_CHECKS)[number];
  readonly failure: FailureReason | null;
  /** The exact problem, in terms of the contract; empty when passed. */
  readonly detail: string;
}

/** The facts the runtime found when it accepted the run; recorded in the event, so that replay checks the same facts. */
export interface PreflightFacts {
  readonly promptTokens: number;
  readonly tools: { readonly digest: Hash; readonly names: readonly string[] };
  readonly profile: {
    readonly id: string;
    readonly adapterVersion: string;
    readonly supportsTools: boolean;
    readonly holdsRequired: boolean;
    readonly grammarProfiles: readonly string[];
  };
}

type Check = (contract: ExecutionContract, facts: PreflightFacts) => Problem | null;
interface Problem {
  readonly failure: FailureReason;
  readonly detail: string;
}

/** The four checks that need no backend. Stops at the first failure. */
export function preflight(contract: ExecutionContract, facts: PreflightFacts): readonly PreflightVerdict[] {
  const verdicts: PreflightVerdict[] = [];
  for (const [check, run] of LOCAL_CHECKS) {
    const problem = run(contract, facts);
    verdicts.push({ check, failure: problem?.failure ?? null, detail: problem?.detail ?? "" });
    if (problem !== null) break;
  }
  return verdicts;
}

export function backendVerdict(responsive: boolean, detail: string): PreflightVerdict {
  return responsive
    ? { check: "backend", failure: null, detail: "" }
    : { check: "backend", failure: "backend.unresponsive", detail };
}

const LOCAL_CHECKS: readonly (readonly [PreflightVerdict["check"], Check])[] = [
  ["context", checkContext],
  ["structure", checkStructure],
  ["tools", checkTools],
  ["profile", checkProfile],
];

function checkContext(contract: ExecutionContract, facts: PreflightFacts): Problem | null {
  const { contextWindow, reservedSystem, reservedSynthesis } = contract.contextBudget;
  const needed = facts.promptTokens + Math.max(reservedSynthesis, MINIMUM_OUTPUT_TOKENS);
  if (needed > contextWindow) {
    return { failure: "context.over-budget", detail: `prompt and reserve need ${needed} of ${contextWindow} tokens` };
  }
  const reserved = reservedSystem + reservedSynthesis + MINIMUM_LOOP_MARGIN;
  if (reserved > contextWindow) {
    return { failure: "contract.context-infeasible", detail: `reserves need ${reserved} of ${contextWindow} tokens` };
  }
  return null;
}

function checkStructure(contract: ExecutionContract, facts: PreflightFacts): Problem | null {
  const broken = STRUCTURE_RULES.find(([, holds]) => !holds(contract, facts));
  return broken === undefined ? null : { failure: "contract.invalid", detail: broken[0] };
}

const isPositive = (value: number): boolean => Number.isSafeInteger(value) && value > 0;

const STRUCTURE_RULES: readonly (readonly [string, (contract: ExecutionContract, facts: PreflightFacts) => boolean])[] =
  [
    ["machine_version is newer than this machine", (c) => c.machineVersion <= MACHINE_VERSION],
    ["max_format_retries must be 0 or 1", (c) => c.maxFormatRetries === 0 || c.maxFormatRetries === 1],
    ["max_inferences must be at least 1", (c) => isPositive(c.maxInferences)],
    ["max_spend_microusd must be at least 1", (c) => c.maxSpendMicrousd === null || isPositive(c.maxSpendMicrousd)],
    ["allowed_tools must be resolved when a contract is sealed", (c) => c.version === "2.1" || c.allowedTools !== null],
    ["step_timeout_ms must be at least 1", (c) => isPositive(c.stepTimeoutMs)],
    ["total_timeout_ms must be at least 1", (c) => isPositive(c.totalTimeoutMs)],
    ["max_bytes_per_call must be at least 1", (c) => isPositive(c.toolOutputBudget.maxBytesPerCall)],
    [
      "force_synthesis_at_ratio must be above 0 and at most 1",
      (c) => c.contextBudget.forceSynthesisAtRatio > 0 && c.contextBudget.forceSynthesisAtRatio <= 1,
    ],
    [
      "max_tokens_consumed leaves no room for one inference",
      (c, facts) => facts.promptTokens + MINIMUM_OUTPUT_TOKENS <= c.maxTokensConsumed,
    ],
    ["max_output_tokens is below the minimum", (c) => c.maxOutputTokens >= MINIMUM_OUTPUT_TOKENS],
    ["speculative_exec is not offered", (c) => !c.speculativeExec],
    [
      "summarizer_model is not offered",
      (c) => c.toolOutputBudget.summarizerModel === null || c.machineVersion >= SUMMARIZERS_SINCE,
    ],
    ["strict_mode refuses tool_policy optional", (c) => !(c.strictMode && c.toolPolicy === "optional")],
    [
      "strict_mode with tool_policy required needs token_gate",
      (c) => !(c.strictMode && c.toolPolicy === "required") || c.tokenGate,
    ],
    [
      "required_effects contradict tool_policy forbidden",
      (c) => c.toolPolicy !== "forbidden" || c.requiredEffects.length === 0,
    ],
    ["delegation is nested too deeply", (c) => c.depth <= MAXIMUM_DEPTH],
  ];

function checkTools(contract: ExecutionContract, { tools }: PreflightFacts): Problem | null {
  const unavailable = (detail: string): Problem => ({ failure: "contract.tools-unavailable", detail });
  if (contract.toolsDigest !== null && contract.toolsDigest !== tools.digest) {
    return unavailable("the registered tools are not the ones the contract was sealed with");
  }
  const offered = contract.allowedTools ?? tools.names;
  const missing = offered.find((name) => !tools.names.includes(name));
  if (missing !== undefined) return unavailable(`allowed tool ${missing} is not registered`);
  if (contract.toolPolicy === "required" && offered.length === 0)
    return unavailable("tool_policy required with no tool");
  const unprovable = contract.requiredEffects.find((effect) => !offered.some((name) => matchesTool(effect.tool, name)));
  if (unprovable !== undefined) return unavailable(`no allowed tool can prove required effect ${unprovable.tool}`);
  return null;
}

function checkProfile(contract: ExecutionContract, { profile }: PreflightFacts): Problem | null {
  const incompatible = (detail: string): Problem => ({ failure: "contract.profile-incompatible", detail });
  if (contract.modelProfileId !== profile.id) return incompatible(`the model's profile is ${profile.id}`);
  if (contract.adapterVersion !== profile.adapterVersion)
    return incompatible(`the adapter is ${profile.adapterVersion}`);
  if (contract.toolPolicy === "required" && !profile.supportsTools)
    return incompatible("the profile has no tool calls");
  if (contract.grammarProfile !== null && !profile.grammarProfiles.includes(contract.grammarProfile)) {
    return incompatible(`the profile cannot hold grammar ${contract.grammarProfile}`);
  }
  const isConstrained = contract.grammar !== null || contract.logitsMask !== null;
  if (isConstrained && profile.grammarProfiles.length === 0) {
    return incompatible("the profile holds neither a grammar nor a logits_mask");
  }
  // Without a grammar there was nothing more to compare.
  if (profile.grammarProfiles.length > 0) {
    const unheld = constraintProblem(contract, profile.grammarProfiles);
    if (unheld !== null) return incompatible(unheld);
  }
  if (isGated(contract) && !profile.holdsRequired) {
    return incompatible("the profile cannot hold strict_mode, tool_policy required and token_gate together");
  }
  return null;
}

function isGated({ strictMode, toolPolicy, tokenGate }: ExecutionContract): boolean {
  return strictMode && toolPolicy === "required" && tokenGate;
}

/** What the contract asks of the decoder, against what its profile can hold. */
function constraintProblem(contract: ExecutionContract, held: readonly string[]): string | null {
  const { grammarProfile, grammar, logitsMask, toolPolicy } = contract;
  if (logitsMask !== null && !held.includes(LOGITS_MASK)) return "the profile cannot hold a logits_mask";
  const holdsGrammar = held.some((name) => name !== LOGITS_MASK);
  if (grammar !== null && !holdsGrammar) return "the profile cannot hold a grammar";
  if (grammarProfile === "text" && toolPolicy === "required") {
    return "grammar_profile text contradicts tool_policy required";
  }
  if (!held.includes("calls") || !isGated(contract)) return null;
  if (grammar !== null && grammarProfile === "calls") return null;
  return "strict_mode, tool_policy required and token_gate together need grammar_profile calls";
}
