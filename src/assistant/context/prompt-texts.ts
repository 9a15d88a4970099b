/** The system prompts of a run by id, in their order (P-2.1). They are never stored as content (P-2.5). */
import { getBasePrompt } from "../../prompts/base-prompt.ts";

const AGENT_PREFIX = "agent:";

export interface PromptLayer {
  readonly layer: "base" | "agent";
  readonly id: string;
  readonly text: string;
}

export class PromptTexts {
  readonly #agentPrompt: (agentId: string) => string | null;

  constructor(agentPrompt: (agentId: string) => string | null) {
    this.#agentPrompt = agentPrompt;
  }

  /** The text behind an id; a prompt that is no longer configured is empty. */
  textOf(id: string): string {
    if (id.startsWith(AGENT_PREFIX)) return this.#agentPrompt(id.slice(AGENT_PREFIX.length)) ?? "";
    return getBasePrompt().content;
  }

  layers(agentId: string): readonly PromptLayer[] {
    const base = getBasePrompt();
    const own = this.#agentPrompt(agentId);
    return [
      { layer: "base", id: base.versionId, text: base.content },
      ...(own === null ? [] : [{ layer: "agent", id: `${AGENT_PREFIX}${agentId}`, text: own } as const]),
    ];
  }
}
