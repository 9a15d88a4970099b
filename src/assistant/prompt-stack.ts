/**
 * The prompt a run begins with, in its fixed order (P-2.1): base, agent, then what was said in the session, then the
 * message. Named by ids and refs, so that it can be built again word for word.
 */
import { promptHead } from "../kernel/journal/body.ts";
import { hashBytes, hashCanonical } from "../kernel/vocabulary/hash.ts";
import type { BodyRef, Hash } from "../kernel/vocabulary/identifiers.ts";
import { getBasePrompt } from "../prompts/base-prompt.ts";
import type { OpeningItem } from "../runtime/acceptance.ts";
import type { RegisteredTool } from "../runtime/ports/toolbox.ts";

const AGENT_PREFIX = "agent:";

export interface Said {
  readonly role: "user" | "assistant";
  readonly ref: BodyRef;
  readonly text: string;
}

export interface PromptStack {
  readonly opening: readonly OpeningItem[];
  readonly prompt: { readonly head: Hash; readonly tokens: number; readonly manifest: Hash };
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

  stack(
    agentId: string,
    said: readonly Said[],
    offered: readonly RegisteredTool[],
    countTokens: (text: string) => number,
  ): PromptStack {
    const hasOwn = this.#agentPrompt(agentId) !== null;
    const systemIds = [getBasePrompt().versionId, ...(hasOwn ? [`${AGENT_PREFIX}${agentId}`] : [])];
    const system = systemIds.map((id) => ({ id, text: this.textOf(id) }));
    const texts = [...system.map(({ text }) => text), ...said.map(({ text }) => text)];
    const toolText = offered.length === 0 ? [] : [JSON.stringify(offered)];
    return {
      opening: [
        ...system.map(({ id }) => ({ role: "system", id }) as const),
        ...said.map(({ role, ref }) => ({ role, ref })),
      ],
      prompt: {
        head: promptHead(null, [...systemIds, ...said.map(({ ref }) => ref)]),
        tokens: [...texts, ...toolText].reduce((sum, text) => sum + countTokens(text), 0),
        manifest: hashCanonical(system.map(({ id, text }) => ({ id, sha256: hashBytes(text) }))),
      },
    };
  }
}
