/**
 * Posting to an address that the operator configured. Answers with the status, whatever it is; nothing is followed or
 * retried. Rejects with a `ChannelError`: `channel.unavailable` when no request was sent, `channel.unknown` when one may
 * have been taken.
 */
export interface OutboundRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

export type OutboundPost = (request: OutboundRequest) => Promise<{ readonly status: number }>;
