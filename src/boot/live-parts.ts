/** What is configured, for services that live longer: they read the part that applies each time they use it. */
import { PromptTexts } from "../assistant/context/prompt-texts.ts";
import { modelChooser } from "../assistant/runs/choose-model.ts";
import type { DraftingSettings } from "../assistant/runs/draft-run.ts";
import { SubAgents } from "../assistant/subagents/sub-agents.ts";
import type { Redactor } from "../kernel/redaction/redact.ts";
import type { ConfiguredParts, PartsSurroundings } from "./configured-parts.ts";

type Now = () => ConfiguredParts;

/** A stream goes on as it began. */
function liveRedactor(now: Now): Redactor {
  return {
    get stream() {
      return now().redactor.stream;
    },
    redactText: (text) => now().redactor.redactText(text),
    redactJson: (value) => now().redactor.redactJson(value),
    isClean: (value) => now().redactor.isClean(value),
  };
}

export function liveDrafting(
  now: Now,
  {
    clock,
    random,
    store,
    inbox,
    policyState,
  }: Pick<PartsSurroundings, "clock" | "random"> & Pick<DraftingSettings, "store" | "inbox" | "policyState">,
): DraftingSettings {
  const subAgents = new SubAgents(() => now().config.agents);
  return {
    ...{ store, clock, random, inbox, policyState },
    redactor: liveRedactor(now),
    subAgents,
    texts: new PromptTexts((agentId) => subAgents.promptOf(agentId)),
    limitsOf: (agentId) => now().limitsOf(agentId),
    policy: () => now().policy,
    get toolbox() {
      return now().toolbox;
    },
    get ceilings() {
      return now().ceilings;
    },
    get thinkingMode() {
      return now().config.output.thinking_mode;
    },
    agentThinking: (agentId) => now().config.agents[agentId]?.thinkingLevel ?? null,
    isAgent: (agentId) => Object.hasOwn(now().config.agents, agentId),
    chooseModel: (asked, agentId, task) => modelChooser(now().choices)(asked, agentId, task),
  };
}
