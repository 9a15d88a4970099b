/**
 * What a model thought before its calls, in the body of the message it thought it for: its provider wants it back with the
 * results, also after a restart.
 *
 * K1. It stands in the first call's `raw_payload`, so under the message's ref: salted with it, erased with it, and read by
 *     nothing but the conversation with the model. No view shows it.
 * K2. It is redacted like anything that is kept. What is signed and would have to change for that is left out whole: altered,
 *     its provider would refuse it.
 * K3. A message without it is not looked into.
 */
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { jsonProblem } from "../../kernel/vocabulary/json-problem.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { Thoughts } from "../ports/model-backend.ts";

const KEY = "thoughts";
/** In canonical JSON. Homes written before contracts 1.6.0 hold bodies with the camelCase names; both are read. */
const SIGNS = [`"raw_payload":{"${KEY}":`, `"rawPayload":{"${KEY}":`];
/** Deeper than any provider nests them. */
const MAX_DEPTH = 16;

/** The payload to keep; null where nothing is. */
export function saveReasoning(redactor: Redactor, { kept, isSigned }: Thoughts): Record<string, unknown> | null {
  if (jsonProblem(kept, MAX_DEPTH) !== null) return null;
  const { value, paths } = redactor.redactJson(kept);
  return isSigned && paths.length > 0 ? null : { [KEY]: value };
}

/** `message` is canonical JSON of our own. */
export function restoreReasoning(message: string | null): JsonValue | undefined {
  if (message === null || !SIGNS.some((sign) => message.includes(sign))) return undefined;
  const body = JSON.parse(message) as MessageBody | OlderMessageBody;
  const payload = "tool_calls" in body ? body.tool_calls[0]?.raw_payload : body.toolCalls[0]?.rawPayload;
  return payload?.[KEY];
}

type Payload = { readonly [KEY]?: JsonValue } | null;
type MessageBody = { readonly tool_calls: readonly { readonly raw_payload: Payload }[] };
type OlderMessageBody = { readonly toolCalls: readonly { readonly rawPayload: Payload }[] };
