/**
 * Session keys (P-5.1): `agent:{agentId}:{channel}:{accountId}:dm:{peerId}`, and group, room, job and run in place of dm.
 *
 * K1. Two different origins never have one key: `:` and `%` inside a component are percent-encoded.
 * K2. Ids are compared as the channel wrote them, in Unicode's composed form; nothing else is folded.
 */
export type KeyKind = "dm" | "group" | "room" | "job" | "run";

export interface KeyParts {
  readonly agentId: string;
  readonly channel: string;
  /** Which of the channel's accounts was written to; a channel with one account has none. */
  readonly accountId?: string;
  readonly kind: KeyKind;
  readonly peer: string;
}

const DEFAULT_ACCOUNT = "default";

export function sessionKey({ agentId, channel, accountId = DEFAULT_ACCOUNT, kind, peer }: KeyParts): string {
  return sessionKeyParts(["agent", agentId, channel, accountId, kind, peer]);
}

/** Different parts never have one text (K1). */
export function sessionKeyParts(parts: readonly string[]): string {
  return parts.map(encodeComponent).join(":");
}

/** Where the sender's direct messages belong: a session that one run began has a key of its own. */
export function directKey({
  key,
  agentId,
  channel,
  senderId,
}: Omit<KeyParts, "kind" | "peer"> & { readonly key: string; readonly senderId: string }): string {
  return key.split(":")[4] === "run" ? sessionKey({ agentId, channel, kind: "dm", peer: senderId }) : key;
}

export function isDirectKey(key: string): boolean {
  return key.split(":")[4] === "dm";
}

function encodeComponent(text: string): string {
  return text.normalize("NFC").replace(/[%:]/g, (sign) => (sign === ":" ? "%3A" : "%25"));
}
