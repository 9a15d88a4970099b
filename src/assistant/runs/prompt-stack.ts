/**
 * The prompt a run begins with, in its fixed order (P-2.1): base, agent, the session's history, the message. It is named by
 * ids and refs, so that it can be rebuilt exactly.
 */
import { promptHead } from "../../kernel/journal/body.ts";
import { hashBytes, hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { BodyRef, Hash } from "../../kernel/vocabulary/identifiers.ts";
import { getBasePrompt } from "../../prompts/base-prompt.ts";
import type { RegisteredTool } from "../../runtime/ports/toolbox.ts";
import type { OpeningItem } from "../../runtime/run/acceptance.ts";

const AGENT_PREFIX = "agent:";

export interface Said {
  readonly role: "user" | "assistant";
  readonly ref: BodyRef;
  readonly text: string;
  /** Follows the text. */
  readonly note?: string;
  readonly images?: { readonly refs: readonly BodyRef[]; readonly tokens: number };
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
    const texts = [
      ...system.map(({ text }) => text),
      ...said.map(({ text, note }) => (note === undefined ? text : `${text}\n${note}`)),
      ...(offered.length === 0 ? [] : [JSON.stringify(offered)]),
    ];
    const images = said.reduce((sum, each) => sum + (each.images?.tokens ?? 0), 0);
    return {
      opening: [
        ...system.map(({ id }) => ({ role: "system", id }) as const),
        ...said.map(({ role, ref, note }) => (note === undefined ? { role, ref } : { role, ref, note })),
      ],
      prompt: {
        head: promptHead(null, [...systemIds, ...said.flatMap(partsOf)]),
        tokens: texts.reduce((sum, text) => sum + countTokens(text), images),
        manifest: hashCanonical(system.map(({ id, text }) => ({ id, sha256: hashBytes(text) }))),
      },
    };
  }
}

/** The parts of the prompt's head. */
function partsOf({ ref, note, images }: Said): readonly string[] {
  return [ref, ...(note === undefined ? [] : [note]), ...(images?.refs ?? [])];
}
