/** What an endpoint answers with. */
export interface Reply {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  /** A stream writes itself and decides when it is over. */
  readonly body: string | (() => Promise<void>);
}

export const NOTHING_MORE: Reply = { status: 204, headers: [], body: "" };

export function jsonReply(status: number, json: string, headers: readonly string[] = []): Reply {
  const length = String(Buffer.byteLength(json));
  const described = ["content-type", "application/json; charset=utf-8", "content-length", length, ...headers];
  return { status, headers: described, body: json };
}
