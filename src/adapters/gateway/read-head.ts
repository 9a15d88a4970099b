/** The headers the gateway acts on, read once. A duplicate is refused: two readers could pick different values. */
import { invalidRequest } from "./http-error.ts";

const READ_HEADERS = [
  "access-control-request-method",
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "host",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "last-event-id",
  "origin",
  "sec-fetch-site",
  "sec-websocket-protocol",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
  "x-forwarded-for",
] as const;

export type Head = Readonly<Partial<Record<(typeof READ_HEADERS)[number], string>>>;

/** Names and values, alternating, as Node gives them. */
export function readHead(rawHeaders: readonly string[]): Head {
  const head: { -readonly [Name in keyof Head]: string } = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at]?.toLowerCase();
    const name = READ_HEADERS.find((known) => known === given);
    if (name === undefined) continue;
    const before = head[name];
    // Each proxy on the way may add a line of its own.
    if (before !== undefined && name === "x-forwarded-for") head[name] = `${before}, ${rawHeaders[at + 1] ?? ""}`;
    else if (before !== undefined) throw invalidRequest(`Duplicate header ${name}.`);
    else head[name] = rawHeaders[at + 1] ?? "";
  }
  return head;
}
