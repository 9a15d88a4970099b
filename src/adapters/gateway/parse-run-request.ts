/**
 * POST /v1/runs: from the wire's snake_case to the assistant's request.
 *
 * P1. Types and names are checked here; whether a term is within the agent's ceilings is the assistant's to say.
 * P2. Source and principal are what this door knows, whatever the body says.
 */
import type { ContractOverrides, MediaItem, RunRequest } from "../../assistant/assistant.ts";
import { asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import { IMAGE_TYPES } from "../../runtime/model/image-facts.ts";
import { invalidRequest } from "./http-error.ts";
import {
  count,
  flag,
  listOf,
  number,
  oneOf,
  optional,
  type Reader,
  readFields,
  required,
  text,
} from "./read-fields.ts";
import type { Head } from "./read-head.ts";
import { readIdempotencyKey } from "./read-idempotency-key.ts";

const MAX_NAME_CHARS = 256;
const name = text(MAX_NAME_CHARS);

const FIELDS = [
  "agent_id",
  "message",
  "media",
  "thinking_mode",
  "thinking_level",
  "session_id",
  "model",
  "contract",
  "approved_tools",
  "unattended",
] as const;

const requiredEffect: Reader<{ readonly tool: string; readonly args?: Readonly<Record<string, unknown>> }> = (
  value,
  where,
) => {
  const fields = readFields(value, where, ["tool", "args"]);
  const tool = required(fields, "tool", name);
  const args = fields["args"];
  if (args === undefined || args === null) return { tool };
  if (typeof args !== "object" || Array.isArray(args)) throw invalidRequest(`${where}.args must be a JSON object`);
  return { tool, args: args as Readonly<Record<string, unknown>> };
};

/** Whether it is an image, and one of this type, its bytes say: the assistant looks. */
const mediaItem: Reader<MediaItem> = (value, where) => {
  const fields = readFields(value, where, ["type", "mime_type", "data"]);
  const field = <Value>(key: string, read: Reader<Value>): Value =>
    required(fields, key, (item) => read(item, `${where}.${key}`));
  return {
    type: field("type", oneOf(["image"])),
    mimeType: field("mime_type", oneOf(IMAGE_TYPES)),
    data: field("data", text()),
  };
};

/** `provider:model`, or the same in parts (P-1.4). */
const modelRef: Reader<string> = (value, where) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return name(value, where);
  const fields = readFields(value, where, ["provider", "model"]);
  const part = (key: string): string => required(fields, key, (item) => name(item, `${where}.${key}`));
  const provider = part("provider");
  // References split at the first colon.
  if (provider.includes(":")) throw invalidRequest(`${where}.provider must be without a colon`);
  return `${provider}:${part("model")}`;
};

const pair: Reader<readonly [string, string]> = (value, where) => {
  const [first, second, ...more] = listOf(name)(value, where);
  if (first === undefined || second === undefined || more.length > 0) {
    throw invalidRequest(`${where} must be a pair of tools`);
  }
  return [first, second];
};

type Terms = Required<ContractOverrides>;
type FieldsOf<Values> = { readonly [Term in keyof Values]: readonly [field: string, read: Reader<Values[Term]>] };

/** Fields that were left out stay out. */
const objectOf =
  <Values>(terms: FieldsOf<Values>): Reader<Partial<Values>> =>
  (value, where) => {
    const rows = Object.entries<readonly [string, Reader<unknown>]>(terms);
    const fields = readFields(
      value,
      where,
      rows.map(([, [field]]) => field),
    );
    const given = rows.map(([term, [field, read]]) => [term, optional<unknown>(fields, field, read)] as const);
    return Object.fromEntries(given.filter(([, read]) => read !== null)) as Partial<Values>;
  };

const CONTEXT_BUDGET: FieldsOf<Required<Terms["contextBudget"]>> = {
  contextWindow: ["context_window", count],
  reservedSystem: ["reserved_system", count],
  reservedSynthesis: ["reserved_synthesis", count],
  forceSynthesisAtRatio: ["force_synthesis_at_ratio", number],
};

const TOOL_OUTPUT_BUDGET: FieldsOf<Required<Terms["toolOutputBudget"]>> = {
  maxBytesPerCall: ["max_bytes_per_call", count],
  truncationMarker: ["truncation_marker", text(MAX_NAME_CHARS)],
  summarizerModel: ["summarizer_model", name],
};

const TERMS: FieldsOf<Terms> = {
  toolPolicy: ["tool_policy", oneOf(["required", "forbidden", "optional"])],
  allowedTools: ["allowed_tools", listOf(name)],
  strictMode: ["strict_mode", flag],
  tokenGate: ["token_gate", flag],
  maxInferences: ["max_inferences", count],
  maxTokensConsumed: ["max_tokens_consumed", count],
  maxOutputTokens: ["max_output_tokens", count],
  maxFormatRetries: ["max_format_retries", count],
  maxSpendMicrousd: ["max_spend_microusd", count],
  stepTimeoutMs: ["step_timeout_ms", count],
  totalTimeoutMs: ["total_timeout_ms", count],
  requiredEffects: ["required_effects", listOf(requiredEffect)],
  cycleForbid: ["cycle_forbid", listOf(pair)],
  contextBudget: ["context_budget", objectOf(CONTEXT_BUDGET)],
  toolOutputBudget: ["tool_output_budget", objectOf(TOOL_OUTPUT_BUDGET)],
  grammarProfile: ["grammar_profile", name],
  grammar: ["grammar", text()],
  logitsMask: ["logits_mask", listOf(number)],
  speculativeExec: ["speculative_exec", flag],
};
const readOverrides = objectOf(TERMS);

export function parseRunRequest(body: JsonValue, head: Head, principal: string): RunRequest {
  const fields = readFields(body, "the body", FIELDS);
  const sessionId = optional(fields, "session_id", name);
  const thinkingLevel = optional(fields, "thinking_level", oneOf(THINKING_LEVELS));
  const media = optional(fields, "media", listOf(mediaItem)) ?? [];
  return {
    agentId: required(fields, "agent_id", name),
    message: required(fields, "message", text()),
    ...(media.length === 0 ? {} : { media }),
    sessionId: sessionId === null ? null : asSessionId(sessionId),
    model: optional(fields, "model", modelRef),
    thinkingMode: optional(fields, "thinking_mode", oneOf(["never", "on_error", "always"])),
    ...(thinkingLevel === null ? {} : { thinkingLevel }),
    contract: optional(fields, "contract", readOverrides) ?? {},
    approvedTools: optional(fields, "approved_tools", listOf(name)) ?? [],
    ...(optional(fields, "unattended", flag) ? { isUnattended: true } : {}),
    source: "http",
    principal,
    idempotencyKey: readIdempotencyKey(head),
  };
}
