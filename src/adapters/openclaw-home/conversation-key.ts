/**
 * The key of a conversation of a Clawdbot, Moltbot or OpenClaw home, as a key of ours (P-5.1). Its forms are from
 * openclaw/openclaw docs/reference/session-management-compaction.md at 010f0c8 and src/routing/session-key.ts of the Moltbot
 * time (jimboswankster/moltbot at e4927eb); older forms without an agent from src/infra/state-migrations.ts at 013c24e.
 *
 * | their key | ours |
 * |---|---|
 * | `agent:A:main`, `main` | A's session of the person at this machine: `agent:A:cli:default:dm:operator` |
 * | `agent:A:CHANNEL:ACCOUNT:dm:PEER` (or `direct`) | the same |
 * | `agent:A:CHANNEL:dm:PEER` | with account `default` |
 * | `agent:A:dm:PEER` | of the channel that was last used |
 * | `agent:A:CHANNEL:group:ID`, `:channel:ID`, `:room:ID` | group, room and room, with account `default` |
 * | `group:ID@g.us`, `ID@g.us` | a group of whatsapp |
 * | `cron:ID`, `agent:A:cron:ID` | job of channel `cron` |
 * | everything else | `agent:A:imported:default:run:` and their key or session id |
 */
import type { KeyParts } from "../../assistant/sessions/session-key.ts";

/** Where a conversation is that no channel leads to. */
const UNROUTED_CHANNEL = "imported";
const CHANNEL = /^[a-z][a-z0-9_-]{0,31}$/;
const KINDS: Readonly<Record<string, KeyParts["kind"]>> = {
  dm: "dm",
  direct: "dm",
  group: "group",
  channel: "room",
  room: "room",
};
const WHATSAPP_GROUP = /^(?:whatsapp:)?(?:group:)?([^:]+@g\.us)$/;

/** `theirs` is null for a transcript that no key leads to. */
export function conversationKey(
  agentId: string,
  theirs: string | null,
  { sessionId, lastChannel }: { readonly sessionId: string; readonly lastChannel: string | null },
): KeyParts {
  const rest = theirs?.replace(/^agent:[^:]*:/, "") ?? "";
  const known = theirs === null ? null : knownKey(rest, lastChannel);
  return { agentId, ...(known ?? { channel: UNROUTED_CHANNEL, kind: "run", peer: rest === "" ? sessionId : rest }) };
}

function knownKey(rest: string, lastChannel: string | null): Omit<KeyParts, "agentId"> | null {
  if (rest === "main") return { channel: "cli", kind: "dm", peer: "operator" };
  const group = WHATSAPP_GROUP.exec(rest)?.[1];
  if (group !== undefined) return { channel: "whatsapp", kind: "group", peer: group };
  const parts = rest.split(":");
  const [first = "", second = "", third = ""] = parts;
  const after = (count: number): string => parts.slice(count).join(":");
  if (first === "cron") return addressed("cron", undefined, "job", after(1));
  const [whole, ofChannel, ofPeer] = [KINDS[third], KINDS[second], KINDS[first]];
  // `telegram:dm:5` before `telegram:default:dm:5`: an account may not be called like a kind.
  if (ofChannel !== undefined) return addressed(first, undefined, ofChannel, after(2));
  if (whole !== undefined) return addressed(first, second, whole, after(3));
  if (ofPeer === "dm" && lastChannel !== null) return addressed(lastChannel, undefined, "dm", after(1));
  return null;
}

function addressed(
  channel: string,
  accountId: string | undefined,
  kind: KeyParts["kind"],
  peer: string,
): Omit<KeyParts, "agentId"> | null {
  if (!CHANNEL.test(channel) || peer === "" || accountId === "") return null;
  return { channel, ...(accountId === undefined ? {} : { accountId }), kind, peer };
}
