/** A found transcript as a conversation to import. */
import type { ForeignConversation } from "../../assistant/sessions/import-session.ts";
import { conversationKey } from "./conversation-key.ts";
import type { FoundTranscript } from "./find-transcripts.ts";
import { readTranscript } from "./read-transcript.ts";

export interface ReadConversation {
  /** Null when nothing was said in it. */
  readonly conversation: ForeignConversation | null;
  readonly bad: readonly string[];
}

/** The same for a copy of the home in another place. */
export function sourceOf({ agentId, sessionId }: FoundTranscript): string {
  return `openclaw:${agentId}/${sessionId}`;
}

export async function readConversation(found: FoundTranscript): Promise<ReadConversation> {
  const { agentId, sessionId, key, entry, changedMs } = found;
  const { name, summary, turns, bad } = await readTranscript(found.lines(), Math.trunc(changedMs));
  const text = (field: string): string | null => {
    const value = entry[field];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
  };
  const conversation: ForeignConversation = {
    source: sourceOf(found),
    key: conversationKey(agentId, key, { sessionId, lastChannel: text("lastChannel") }),
    title: text("label") ?? text("displayName") ?? text("subject") ?? name,
    summary,
    turns,
  };
  return { conversation: turns.length === 0 ? null : conversation, bad };
}
