/** The system prompts of a run by id, in their order (P-2.1). They are never stored as content (P-2.5). */
import { CHANNEL_CLASSES, type ChannelClass } from "../../kernel/vocabulary/risk.ts";
import { getBasePrompt } from "../../prompts/base-prompt.ts";
import { getChannelPolicy } from "../../prompts/channel-policy.ts";
import { getNotesProtocol } from "../../prompts/notes-protocol.ts";
import { getSummaryPrompt } from "../../prompts/summary-prompt.ts";

const AGENT_PREFIX = "agent:";

export interface PromptLayer {
  readonly layer: "base" | "agent" | "channel" | "protocol";
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
    const others = [...CHANNEL_CLASSES.map(getChannelPolicy), getNotesProtocol(), getSummaryPrompt()];
    return (others.find(({ versionId }) => versionId === id) ?? getBasePrompt()).content;
  }

  /** `isLasting`: the session goes on, so that NOTES are worth writing. */
  layers(agentId: string, channelClass: ChannelClass, isLasting: boolean): readonly PromptLayer[] {
    const base = getBasePrompt();
    const own = this.#agentPrompt(agentId);
    const channel = getChannelPolicy(channelClass);
    const notes = getNotesProtocol();
    return [
      { layer: "base", id: base.versionId, text: base.content },
      ...(own === null ? [] : [{ layer: "agent", id: `${AGENT_PREFIX}${agentId}`, text: own } as const]),
      { layer: "channel", id: channel.versionId, text: channel.content },
      ...(isLasting ? [{ layer: "protocol", id: notes.versionId, text: notes.content } as const] : []),
    ];
  }
}
