/**
 * Where a message belongs (T-2.3): a direct message to its sender's session, a message of a group or room to the one all its
 * members share. Linked identities have one session, under the key of their first link.
 */
import { type KeyKind, sessionKey } from "./session-key.ts";

export interface InboundMessage {
  readonly agentId: string;
  readonly channel: string;
  /** Absent: the channel's only account. */
  readonly accountId?: string;
  readonly senderId: string;
  readonly text: string;
  /** Null: a direct message. */
  readonly group: { readonly kind: "group" | "room"; readonly id: string; readonly mentioned: boolean } | null;
  /** The channel's own id; null when it gives none. */
  readonly messageId: string | null;
  /** Clients made up the id, each for itself: it is one message for its sender, in its room, and no further. */
  readonly isSendersId?: true;
}

/** An identity of the configuration: the same person on several channels. */
export interface Identity {
  readonly id: string;
  /** `channel:senderId`; the first is the primary one. */
  readonly links: readonly string[];
}

export interface Route {
  readonly key: string;
  /** The canonical identity of the sender; of a group, the group. */
  readonly senderId: string;
}

export function routeOf(message: InboundMessage, identities: readonly Identity[]): Route {
  const { agentId, channel, accountId, senderId, group } = message;
  const account = accountId === undefined ? {} : { accountId };
  if (group !== null) {
    const kind: KeyKind = group.kind;
    return { key: sessionKey({ agentId, channel, ...account, kind, peer: group.id }), senderId: group.id };
  }
  const identity = identities.find(({ links }) => links.includes(`${channel}:${senderId}`));
  const primary = identity === undefined ? null : linkParts(identity);
  if (identity === undefined || primary === null) {
    return { key: sessionKey({ agentId, channel, ...account, kind: "dm", peer: senderId }), senderId };
  }
  const key = sessionKey({ agentId, channel: primary.channel, kind: "dm", peer: primary.senderId });
  return { key, senderId: identity.id };
}

function linkParts({ links: [first = ""] }: Identity): { readonly channel: string; readonly senderId: string } | null {
  const at = first.indexOf(":");
  return at < 1 ? null : { channel: first.slice(0, at), senderId: first.slice(at + 1) };
}

/** Whether the agent answers in a group (T-2.3). */
export type Activation = "mention" | "always";

export function isAddressed({ group }: InboundMessage, activation: Activation): boolean {
  return group === null || activation === "always" || group.mentioned;
}
