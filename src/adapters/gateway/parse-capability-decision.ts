/**
 * POST /api/capabilities: one act on one capability of one session (design: Capabilities).
 *
 * P1. Exactly one of `grant`, `revoke` and `deny`. What can be granted is the assistant's to say.
 * P2. With an `Idempotency-Key` a decision counts once: sent again, it is refused, whatever happened in between.
 */
import { asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { CapabilityDecision } from "../../runtime/capabilities/capabilities.ts";
import { invalidRequest } from "./http-error.ts";
import { count, optional, readFields, required, text } from "./read-fields.ts";
import type { Head } from "./read-head.ts";
import { readIdempotencyKey } from "./read-idempotency-key.ts";

const ACTS = ["grant", "revoke", "deny"] as const;
const MAX_NAME_CHARS = 256;
const name = text(MAX_NAME_CHARS);

export function parseCapabilityDecision(body: JsonValue, head: Head, principal: string): CapabilityDecision {
  const fields = readFields(body, "the body", ["session_id", ...ACTS, "expires_in_s"]);
  const sessionId = asSessionId(required(fields, "session_id", name));
  const [given, ...others] = ACTS.flatMap((act) => {
    const capability = optional(fields, act, name);
    return capability === null ? [] : [{ act, capability }];
  });
  if (given === undefined || others.length > 0) throw invalidRequest(`one of ${ACTS.join(", ")} is required`);
  const expiresInS = optional(fields, "expires_in_s", count);
  if (expiresInS !== null && given.act !== "grant") throw invalidRequest("expires_in_s belongs to grant");
  return { sessionId, ...given, expiresInS, principal, key: readIdempotencyKey(head) };
}
