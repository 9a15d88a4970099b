/** What to do when a run was denied a host, or asks for one: said with the session's id, which only its record knows. */
import type { Assistant, RunNews } from "../assistant/assistant.ts";
import type { RunRecord } from "../kernel/journal/views/run-record.ts";
import { asSessionId } from "../kernel/vocabulary/identifiers.ts";

export function isCapabilityDenial(news: RunNews): boolean {
  if (news.kind !== "event" || news.event.event_type !== "tool.call") return false;
  const { decision, policy_id } = news.event.payload;
  return decision === "deny" && policy_id === "policy.capability";
}

export async function capabilityHints(
  assistant: Assistant,
  { session_id: session }: RunRecord,
  wasDenied: boolean,
): Promise<readonly string[]> {
  const answer = await assistant.capabilities(asSessionId(session));
  const pending = answer.ok ? answer.capabilities.pending.map(({ capability }) => capability) : [];
  const asked = pending.map(
    (capability) =>
      `this session asks for ${capability}; to grant it: surety caps grant ${capability} --session ${session}`,
  );
  const denied = `to let this session reach a host: surety caps grant net:<domain> --session ${session}`;
  const hints = asked.length > 0 ? asked : wasDenied ? [denied] : [];
  return hints.length === 0 ? [] : [...hints, `then go on with it: surety run "…" --session ${session}`];
}
