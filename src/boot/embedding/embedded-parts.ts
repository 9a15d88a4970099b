/** What the classes of the embedding API need of an opened Surety and its public type does not show. */
import type { RegistryToolbox } from "../../adapters/tools/create-toolbox.ts";
import type { LimitsOf } from "../../assistant/context/context-limits.ts";
import type { PromptTexts } from "../../assistant/context/prompt-texts.ts";
import type { OperationClient } from "../../assistant/operations.ts";
import type { Assistant } from "../../assistant/runs/open-assistant.ts";
import type { SubAgents } from "../../assistant/subagents/sub-agents.ts";
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { FindModel } from "../../runtime/model/model-registry.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { Questions } from "./questions.ts";
import type { Surety } from "./surety-api.ts";

export interface EmbeddedParts {
  readonly assistant: Assistant;
  readonly store: Store;
  readonly toolbox: RegistryToolbox;
  readonly policy: () => ToolPolicy;
  readonly operations: OperationClient;
  readonly findModel: FindModel;
  readonly texts: PromptTexts;
  readonly limitsOf: LimitsOf;
  readonly channelClass: (channel: string) => ChannelClass;
  readonly subAgents: SubAgents;
  /** `provider:model` of an agent's runs as a sub-agent. */
  readonly defaultModelOf: (agentId: string) => string;
  readonly questions: Questions;
  readonly closing: AbortSignal;
}

const PARTS = new WeakMap<Surety, EmbeddedParts>();

export function keepParts<Opened extends Surety>(surety: Opened, parts: EmbeddedParts): Opened {
  PARTS.set(surety, parts);
  return surety;
}

export function partsOf(surety: Surety): EmbeddedParts {
  const parts = PARTS.get(surety);
  if (parts === undefined) throw new Defect("this Surety was not made by openSurety");
  return parts;
}
