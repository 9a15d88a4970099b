/**
 * Terms of a run, from defaults, model limits, configuration and the caller's request.
 *
 * T1. A term out of its bounds (`term-bounds.ts`) is refused by name, and nothing is sealed.
 * T2. Terms that only the machine or the model can check (`speculative_exec`, `grammar_profile`) are sealed as requested;
 *     preflight refuses them on the record. A grammar is derived here, for models that apply one.
 * T3. Approved tools are named one by one, and exist.
 * T4. Under any spending limit a model needs a price.
 * T5. Governance scales defaults only: a term that the request names is as the request names it.
 * T6. Without `allowed_tools` a run gets all tools that policy grants its channel and whose descriptions fit, frozen here.
 */
import { Compile, type Validator } from "typebox/compile";
import { type ContractTerms, ContractTermsSchema, type Routing } from "../../kernel/contract/contract.ts";
import { DEFAULT_TERMS } from "../../kernel/contract/default-terms.ts";
import { grammarProfileOf, isGrammarProfile } from "../../kernel/contract/grammar-profile.ts";
import { MINIMUM_OUTPUT_TOKENS } from "../../kernel/contract/preflight.ts";
import { MAX_CONTRACT_DEPTH } from "../../kernel/contract/seal-contract.ts";
import { type GovernedTerms, governedTerms, type PolicyState } from "../../kernel/governance/policy-state.ts";
import { matchesTool } from "../../kernel/policy/tool-pattern.ts";
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import { deriveConstraint } from "../../kernel/protocol/grammar/derive-constraint.ts";
import { jsonProblem } from "../../kernel/vocabulary/json-problem.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import type { RegisteredTool, Toolbox } from "../../runtime/ports/toolbox.ts";
import { fitTools } from "./fit-tools.ts";
import type { ContractOverrides } from "./run-request.ts";
import { boundsProblem, type Ceilings, defaultOutputTokens } from "./term-bounds.ts";

export interface TermsRequest {
  readonly contractId: string;
  readonly model: ConfiguredModel;
  /** Absent: the request named the model. */
  readonly routing?: Routing | undefined;
  readonly toolbox: Toolbox;
  readonly policy: ToolPolicy;
  readonly channelClass: ChannelClass;
  readonly overrides: ContractOverrides;
  /** Absent: the model decides. */
  readonly thinkingLevel?: ThinkingLevel | null;
  readonly approvedTools: readonly string[];
  /** Granted to the session so far; later grants apply to later runs. */
  readonly capabilities: readonly string[];
  readonly ceilings: Ceilings;
  /** Absent or null: not governed. */
  readonly policyState?: PolicyState | null;
  /** Of the descriptions of tools that are granted without being asked for by name; absent: no limit. */
  readonly maxToolTokens?: number;
}

export function contractTerms(
  request: TermsRequest,
):
  | { readonly ok: true; readonly terms: ContractTerms; readonly toolsLeftOut: readonly string[] }
  | { readonly ok: false; readonly problem: string } {
  const { overrides, ceilings, model, thinkingLevel = null, policyState = null } = request;
  const maxSpendMicrousd = overrides.maxSpendMicrousd ?? ceilings.maxSpendMicrousd;
  const refused =
    boundsProblem(overrides, ceilings, model) ??
    priceProblem(model, maxSpendMicrousd) ??
    approvalProblem(request) ??
    grammarProblem(request);
  if (refused !== null) return { ok: false, problem: refused };
  const { allowedTools, requiredEffects, cycleForbid, contextBudget, toolOutputBudget, logitsMask, ...plain } =
    overrides;
  const window = contextBudget?.contextWindow ?? Math.min(model.contextWindow, CONTEXT_CAP);
  const granted = grantedTools(request);
  const { toolbox, policy, maxToolTokens = Number.POSITIVE_INFINITY } = request;
  const fitted = fitTools(
    toolbox.tools.filter(({ name }) => granted.includes(name)),
    policy,
    maxToolTokens,
  );
  const asked: ContractTerms = {
    ...DEFAULT_TERMS,
    maxSpendMicrousd,
    maxTokensConsumed: ceilings.maxTokensConsumed ?? DEFAULT_TERMS.maxTokensConsumed,
    ...scaledTerms(request, defaultOutputTokens(model, thinkingLevel, { ...ceilings, maxSpendMicrousd })),
    policyState: policyState && { ...policyState },
    contextBudget: {
      ...DEFAULT_TERMS.contextBudget,
      ...reservesFor(window),
      ...contextBudget,
      contextWindow: window,
    },
    toolOutputBudget: { ...DEFAULT_TERMS.toolOutputBudget, ...toolOutputBudget },
    logitsMask: logitsMask === undefined ? null : [...logitsMask],
    cycleForbid: (cycleForbid ?? []).map(([first, then]): [string, string] => [first, then]),
    requiredEffects: (requiredEffects ?? []).map((effect) => ({ ...effect })),
    allowedTools: [...(allowedTools ?? fitted.offered.map(({ name }) => name))],
    ...plain,
    contractId: request.contractId,
    modelProfileId: model.profile.id,
    adapterVersion: model.profile.adapterVersion,
    model: model.ref,
    ...(request.routing === undefined ? {} : { routing: request.routing }),
    toolsDigest: request.toolbox.digest,
    policy: request.policy,
    channelClass: request.channelClass,
    capabilities: [...request.capabilities],
    approvedTools: [...request.approvedTools],
  };
  const terms = constrainTerms(asked, model, toolbox.tools);
  const problem = jsonProblem(terms, MAX_CONTRACT_DEPTH) ?? schemaProblem(terms);
  const toolsLeftOut = allowedTools === undefined ? fitted.leftOut : [];
  return problem === null ? { ok: true, terms, toolsLeftOut } : { ok: false, problem };
}

/** The terms that governance scales, within the ceilings; what the request asks for replaces them. */
function scaledTerms({ ceilings, model, policyState }: TermsRequest, maxOutputTokens: number): GovernedTerms {
  const terms: GovernedTerms = {
    maxFormatRetries: DEFAULT_TERMS.maxFormatRetries,
    maxInferences: Math.min(DEFAULT_TERMS.maxInferences, ceilings.maxInferences),
    stepTimeoutMs: Math.min(DEFAULT_TERMS.stepTimeoutMs, ceilings.stepTimeoutMs),
    totalTimeoutMs: Math.min(DEFAULT_TERMS.totalTimeoutMs, ceilings.totalTimeoutMs),
    maxOutputTokens,
  };
  if (policyState === undefined || policyState === null) return terms;
  return governedTerms(terms, policyState, {
    ...ceilings,
    maxOutputTokens: Math.min(ceilings.maxOutputTokens, model.maxOutputTokens),
    leastOutputTokens: MINIMUM_OUTPUT_TOKENS,
  });
}

/** The terms with the grammar that follows from them: of the tools they allow, in the form that the model's backend applies. */
export function constrainTerms(
  terms: ContractTerms,
  { grammar: form }: Pick<ConfiguredModel, "grammar">,
  tools: readonly RegisteredTool[],
): ContractTerms {
  const { allowedTools, toolPolicy } = terms;
  if (form === undefined)
    return { ...terms, grammarProfile: terms.grammarProfile === "off" ? null : terms.grammarProfile };
  const grammarProfile = grammarProfileOf(terms);
  if (grammarProfile === "off" || !isGrammarProfile(grammarProfile)) return { ...terms, grammarProfile, grammar: null };
  const isSilent = grammarProfile === "text" || toolPolicy === "forbidden";
  const offered = isSilent ? [] : tools.filter(({ name }) => allowedTools === null || allowedTools.includes(name));
  return { ...terms, grammarProfile, grammar: deriveConstraint(form, offered) };
}

function grammarProblem({ overrides, model }: TermsRequest): string | null {
  if (overrides.grammar === undefined || model.grammar === undefined) return null;
  return "grammar follows from the contract's tools: name a grammar_profile (off, calls, calls-or-text, text) instead";
}

/** Under a spending limit a model without a price cannot be used. */
export function priceProblem(
  { ref, price, isFree }: Pick<ConfiguredModel, "ref" | "price" | "isFree">,
  maxSpendMicrousd: number | null,
): string | null {
  if (maxSpendMicrousd === null || price !== null || isFree) return null;
  return `${ref} has no price, and a spending limit applies: set costPer1kInput and costPer1kOutput, or free: true`;
}

/** The same terms for another model, with its protocol, its output limit and at most its window. */
export function underModel(
  terms: ContractTerms,
  model: ConfiguredModel,
  routing: Routing | undefined,
  maxOutputTokens: number,
): ContractTerms {
  const { routing: _, ...others } = terms;
  const { contextBudget } = terms;
  const contextWindow = Math.min(contextBudget.contextWindow, model.contextWindow);
  const reserves = contextWindow < contextBudget.contextWindow ? reservesFor(contextWindow) : {};
  return {
    ...others,
    model: model.ref,
    modelProfileId: model.profile.id,
    adapterVersion: model.profile.adapterVersion,
    maxOutputTokens: Math.min(maxOutputTokens, model.maxOutputTokens),
    contextBudget: { ...contextBudget, ...reserves, contextWindow },
    ...(routing === undefined ? {} : { routing }),
  };
}

function approvalProblem({ approvedTools, toolbox }: TermsRequest): string | null {
  const known = new Set(toolbox.tools.map(({ name }) => name));
  const unknown = approvedTools.findIndex((tool) => !known.has(tool));
  return unknown < 0 ? null : `approved_tools[${unknown}] is not a registered tool`;
}

/** A larger window is rarely worth its price. */
const CONTEXT_CAP = 1_000_000;

/** Small windows keep the default proportions. */
export function reservesFor(contextWindow: number): { reservedSystem: number; reservedSynthesis: number } {
  const share = Math.floor(contextWindow / 8);
  const { reservedSystem, reservedSynthesis } = DEFAULT_TERMS.contextBudget;
  return { reservedSystem: Math.min(reservedSystem, share), reservedSynthesis: Math.min(reservedSynthesis, share) };
}

export function grantedTools({
  toolbox,
  policy,
  channelClass,
}: Pick<TermsRequest, "toolbox" | "policy" | "channelClass">): readonly string[] {
  const grants = [policy.allow, policy.channels[channelClass] ?? []];
  const isGranted = ({ name, risk }: RegisteredTool): boolean =>
    policy.risk[risk] !== "deny" && grants.every((patterns) => patterns.some((pattern) => matchesTool(pattern, name)));
  return toolbox.tools.filter(isGranted).map(({ name }) => name);
}

let check: Validator | null = null;

function schemaProblem(terms: ContractTerms): string | null {
  check ??= Compile(ContractTermsSchema);
  if (check.Check(terms)) return null;
  const [error] = check.Errors(terms);
  if (error === undefined) return "is not a contract";
  const term = error.instancePath.slice(1).replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  return `${term} ${error.message}`;
}
