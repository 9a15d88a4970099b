/**
 * A model's reasoning before its calls, stored in the body of its message: some providers want it back with the results,
 * after a restart too.
 *
 * It sits in the first call's `raw_payload`, so it is salted and erased with the message, and no view shows it. It is
 * redacted like every body; signed reasoning that redaction would change is dropped, since its provider would refuse it.
 */
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { jsonProblem } from "../../kernel/vocabulary/json-problem.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { Thoughts } from "../ports/model-backend.ts";

const KEY = "thoughts";
/** In canonical JSON. Homes written before contracts 1.6.0 hold bodies with the camelCase names; both are read. */
const MARKERS = [`"raw_payload":{"${KEY}":`, `"rawPayload":{"${KEY}":`];
/** Deeper than any provider nests them. */
const MAX_DEPTH = 16;

/** The payload to store; null for none. */
export function encodeReasoning(redactor: Redactor, { kept, isSigned }: Thoughts): Record<string, unknown> | null {
  if (jsonProblem(kept, MAX_DEPTH) !== null) return null;
  const { value, paths } = redactor.redactJson(kept);
  return isSigned && paths.length > 0 ? null : { [KEY]: value };
}

/** `message` is canonical JSON that we wrote; most messages have no reasoning and are not parsed. */
export function decodeReasoning(message: string | null): JsonValue | undefined {
  if (message === null || !MARKERS.some((marker) => message.includes(marker))) return undefined;
  const body = JSON.parse(message) as MessageBody | OlderMessageBody;
  const payload = "tool_calls" in body ? body.tool_calls[0]?.raw_payload : body.toolCalls[0]?.rawPayload;
  return payload?.[KEY];
}

type Payload = { readonly [KEY]?: JsonValue } | null;
type MessageBody = { readonly tool_calls: readonly { readonly raw_payload: Payload }[] };
type OlderMessageBody = { readonly toolCalls: readonly { readonly rawPayload: Payload }[] };
