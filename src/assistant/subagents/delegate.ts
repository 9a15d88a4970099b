/**
 * Delegation (T-3b): a sub-agent's run, drafted from its parent's contract.
 *
 * G1. A child sees its task and nothing of its parent's history, nor the workspace's AGENTS.md.
 * G2. Its tools, capabilities and money are part of its parent's. Children of one batch share what is left, so that all of
 *     them fit beside their parent's own next inference.
 * G3. It goes in a lane of its own, so that children work side by side.
 */
import { childTerms, type RemainingBudget } from "../../kernel/contract/child-contract.ts";
import type { ContractTerms, ExecutionContract } from "../../kernel/contract/contract.ts";
import { sealContract } from "../../kernel/contract/seal-contract.ts";
import type { CarvedBudget } from "../../kernel/journal/event.ts";
import { asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { estimateTokens } from "../../runtime/model/estimate-tokens.ts";
import { taskOf } from "../../runtime/model/model-router.ts";
import { newId } from "../../runtime/ports/randomness.ts";
import type { StoredRun } from "../../runtime/ports/store.ts";
import { acceptanceWrites, type BegunSession, newRun } from "../../runtime/run/accept-run.ts";
import { readAcceptance } from "../../runtime/run/acceptance.ts";
import type { Delegate, DelegationRequest } from "../../runtime/run/children.ts";
import { constrainTerms, priceProblem, underModel } from "../runs/contract-terms.ts";
import { assemble, type DraftingSettings, thinkingLevelFor } from "../runs/draft-run.ts";
import { defaultOutputTokens } from "../runs/term-bounds.ts";
import { sessionKey } from "../sessions/session-key.ts";
import type { OutputSchema, SubAgent, SubAgents } from "./sub-agents.ts";

export function delegateWith(settings: DraftingSettings, now: () => string): Delegate {
  return (request) => {
    const { parent, contract, childRunId, index, labels } = request;
    const agent = settings.subAgents.find(request.agent);
    if (agent === null) return { problem: unknownAgent(request.agent, settings.subAgents) };
    const { agentId, outputSchema } = agent;
    const message = outputSchema === null ? request.message : withForm(request.message, outputSchema);
    const carved = carve(agent, request);
    if (!carved.ok) {
      const isTooDeep = carved.problem === "too-deep";
      return { problem: isTooDeep ? "Delegation is nested too deeply." : "No budget is left to delegate." };
    }
    const { maxSpendMicrousd, allowedTools } = carved.terms;
    const needsTools = allowedTools === null || allowedTools.length > 0;
    const chosen = settings.chooseModel(null, agentId, { ...taskOf("subagent", estimateTokens(message)), needsTools });
    if (!chosen.ok) return { problem: chosen.message };
    const unpriced = priceProblem(chosen.model, maxSpendMicrousd);
    if (unpriced !== null) return { problem: unpriced };
    const parentsAcceptance = readAcceptance(parent.accepted);
    const parentsLevel = parentsAcceptance.thinkingLevel ?? null;
    const level = thinkingLevelFor(chosen.model, settings.agentThinking(agentId) ?? parentsLevel);
    const room = hasDefaultOutputTokens(settings, parent, contract, parentsLevel)
      ? defaultOutputTokens(chosen.model, level, { ...settings.ceilings, maxSpendMicrousd })
      : contract.maxOutputTokens;
    const terms = underModel(carved.terms, chosen.model, chosen.routing, room);
    const constrained = constrainTerms(terms, chosen.model, settings.toolbox.tools);
    const child = sealContract({ ...constrained, strictMode: false, tokenGate: false });
    // Does not wait for the tokenizer to load: an estimate is good enough for a task of a few lines.
    const session: BegunSession["session"] = {
      sessionId: asSessionId(newId("session", settings.random)),
      agentId,
      key: sessionKey({ agentId, channel: "run", kind: "run", peer: childRunId }),
      channel: "run",
      senderId: parent.runId,
    };
    const draft = assemble(settings, {
      begins: { session, isRouted: false },
      run: {
        runId: childRunId,
        agentId,
        sessionId: session.sessionId,
        source: "run",
        lane: `run:${parent.runId}:${index}`,
        parentRunId: parent.runId,
        thinkingMode: parent.thinkingMode,
      },
      model: chosen.model,
      contract: child,
      labels,
      message,
      images: [],
      principal: `run:${parent.runId}`,
      thinkingLevel: level,
      isUnattended: parentsAcceptance.isUnattended,
      reply: undefined,
      said: USER_LABELS,
    });
    const { maxInferences: inferences, maxTokensConsumed: tokens, contractHash } = child;
    const spendMicrousd = child.maxSpendMicrousd ?? 0;
    return {
      child: { runId: childRunId, contractHash, budget: { inferences, tokens, spendMicrousd } },
      writes: acceptanceWrites(draft, newRun(draft, now())),
    };
  };
}

function unknownAgent(name: string, agents: SubAgents): string {
  const names = agents.list().map((agent) => agent.name);
  return `There is no sub-agent ${name}. There are ${names.join(", ")}.`;
}

/** The model reads the form; the runtime checks it (typed-answer.ts). */
function withForm(message: string, schema: OutputSchema): string {
  return `${message}\n\n${FORM}\n${JSON.stringify(schema)}`;
}

export const FORM = "Answer with one JSON object and nothing else. It must fulfil this JSON Schema:";

function carve(agent: SubAgent, { contract, left, carved, share, childRunId }: DelegationRequest) {
  const budget = carved ?? shareOf(agent, contract, left, share);
  const maxSpendMicrousd = contract.maxSpendMicrousd === null ? null : budget.spendMicrousd;
  const available = carved === null ? left : { ...left, ...carved, spendMicrousd: maxSpendMicrousd };
  const tools = agent.tools ?? contract.allowedTools ?? [];
  return childTerms(contract, available, {
    contractId: `contract_of_${childRunId}`,
    tools,
    toolPolicy: toolPolicyFor(agent),
    maxInferences: budget.inferences,
    maxTokensConsumed: budget.tokens,
    maxSpendMicrousd,
    totalTimeoutMs: contract.totalTimeoutMs,
    outputSchema: agent.outputSchema,
  });
}

function toolPolicyFor({ tools }: SubAgent): ContractTerms["toolPolicy"] {
  return tools?.length === 0 ? "forbidden" : "optional";
}

/** An answer and a repair of it, however many share; the machine lets those wait that do not fit at once. */
function shareOf(
  { maxInferences: wanted }: SubAgent,
  { maxFormatRetries }: ExecutionContract,
  { inferences, tokens, spendMicrousd }: RemainingBudget,
  share: number,
): CarvedBudget {
  const most = wanted ?? Math.ceil(inferences / 2);
  const fair = Math.max(1 + maxFormatRetries, Math.floor((inferences - 1) / share));
  return {
    inferences: Math.min(most, fair, inferences),
    tokens: Math.floor(tokens / (share + 1)),
    spendMicrousd: Math.floor((spendMicrousd ?? 0) / (share + 1)),
  };
}

/** An explicit output limit also applies to children; a default one is computed for their own model. */
function hasDefaultOutputTokens(
  { chooseModel, ceilings }: DraftingSettings,
  { agentId }: Pick<StoredRun, "agentId">,
  { model, maxOutputTokens, maxSpendMicrousd }: ExecutionContract,
  level: ThinkingLevel | null,
): boolean {
  const own = chooseModel(model, agentId, taskOf("orchestration", 0));
  return own.ok && maxOutputTokens === defaultOutputTokens(own.model, level, { ...ceilings, maxSpendMicrousd });
}
