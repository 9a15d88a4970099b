/**
 * What a caller may ask of a run: the body of POST /v1/runs, declared once in the wire's names. The same schema is the
 * input of the commands' client; inside, the fields have their camelCase names.
 *
 * Types and names are checked here; whether a term is within the agent's ceilings is for contract-terms.ts.
 */
import { type Static, Type } from "typebox";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import { Count, closed } from "../../kernel/vocabulary/schema-primitives.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { fromWire, type Inside } from "../../kernel/vocabulary/wire-case.ts";
import { IMAGE_TYPES, type ImageType } from "../../runtime/model/image-facts.ts";
import { Name, Text } from "../../runtime/operations/input-schemas.ts";
import type { Caller } from "../../runtime/operations/operation.ts";
import type { ReplyAddress } from "../../runtime/ports/channel.ts";
import type { Idempotency } from "../../runtime/ports/store.ts";
import type { StoredMedia } from "../../runtime/ports/stored-media.ts";
import type { BegunSession } from "../../runtime/run/accept-run.ts";

const optional = Type.Optional;
const Flag = Type.Boolean();

/** Terms of one run, within its agent's ceilings, by M-4.1's names. */
const ContractSchema = Type.Object(
  {
    tool_policy: optional(Type.Enum(["required", "forbidden", "optional"])),
    allowed_tools: optional(Type.Array(Name)),
    strict_mode: optional(Flag),
    token_gate: optional(Flag),
    max_inferences: optional(Count),
    max_tokens_consumed: optional(Count),
    max_output_tokens: optional(Count),
    max_format_retries: optional(Count),
    max_spend_microusd: optional(Count),
    step_timeout_ms: optional(Count),
    total_timeout_ms: optional(Count),
    required_effects: optional(
      Type.Array(
        Type.Object({ tool: Name, args: optional(Type.Unsafe<Record<string, unknown>>(Type.Object({}))) }, closed),
      ),
    ),
    cycle_forbid: optional(
      Type.Array(Type.Unsafe<readonly [string, string]>(Type.Array(Name, { minItems: 2, maxItems: 2 }))),
    ),
    context_budget: optional(
      Type.Object(
        {
          context_window: optional(Count),
          reserved_system: optional(Count),
          reserved_synthesis: optional(Count),
          force_synthesis_at_ratio: optional(Type.Number()),
        },
        closed,
      ),
    ),
    tool_output_budget: optional(
      Type.Object(
        {
          max_bytes_per_call: optional(Count),
          truncation_marker: optional(Name),
          summarizer_model: optional(Name),
        },
        closed,
      ),
    ),
    // Whether a model supports these is for preflight to say.
    grammar_profile: optional(Name),
    grammar: optional(Text),
    logits_mask: optional(Type.Array(Type.Number())),
    speculative_exec: optional(Flag),
  },
  closed,
);

/** An image with its bytes, or the `ref` of an upload. Whether it is an image is read from its bytes (read-media.ts). */
const MediaSchema = Type.Object(
  {
    type: optional(Type.Enum(["image"])),
    mime_type: optional(Type.Enum([...IMAGE_TYPES])),
    data: optional(Text),
    ref: optional(Name),
  },
  closed,
);

/** What was said before, as the client tells it. */
const SuppliedMessageSchema = Type.Object({ role: Type.Enum(["user", "assistant"]), content: Text }, closed);

/** References split at the first colon. */
const ProviderName = Type.String({ pattern: "^[^:\\s][^:]*$", maxLength: 256 });

export const RunInputSchema = Type.Object(
  {
    agent_id: Name,
    message: Text,
    media: optional(Type.Array(MediaSchema)),
    thinking_mode: optional(Type.Enum(["never", "on_error", "always"])),
    thinking_level: optional(Type.Enum([...THINKING_LEVELS])),
    session_id: optional(Name),
    /** Of a run without a session: the client's own instructions, and what was said before. */
    instructions: optional(Text),
    history: optional(Type.Array(SuppliedMessageSchema)),
    /** `provider:model`, `auto`, or the reference in parts (P-1.4). */
    model: optional(Type.Union([Name, Type.Object({ provider: ProviderName, model: Name }, closed)])),
    contract: optional(ContractSchema),
    approved_tools: optional(Type.Array(Name)),
    unattended: optional(Flag),
  },
  closed,
);
export type RunInput = Static<typeof RunInputSchema>;

type DeepReadonly<T> = T extends (...args: never) => unknown
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
export type ContractOverrides = DeepReadonly<Inside<Static<typeof ContractSchema>>>;

export interface MediaItem {
  readonly type: "image";
  readonly mimeType: ImageType;
  /** Base64. */
  readonly data: string;
  /** Of the upload it is; absent: it came with the message. */
  readonly ref?: string;
}

/** An uploaded file that is no image: it goes into the workspace, and the message names it. */
export interface FileItem extends Pick<StoredMedia, "ref" | "type" | "name" | "bytes"> {
  /** Base64. */
  readonly data: string;
}

/** A conversation that the client keeps: all of it comes with each request. */
export interface SuppliedContext {
  readonly instructions: string | null;
  /** Oldest first. */
  readonly history: readonly Static<typeof SuppliedMessageSchema>[];
}

export interface InboundId {
  readonly channel: string;
  readonly messageId: string;
}

/** Part of an idempotency key's request hash: its shape must not change. */
export interface RunRequest {
  readonly agentId: string;
  readonly message: string;
  /** Absent: none. */
  readonly media?: readonly MediaItem[];
  /** Absent: none. */
  readonly files?: readonly FileItem[];
  /** Null: a session of its own. */
  readonly sessionId: SessionId | null;
  /** `provider:model`; null: the agent's, or the default. */
  readonly model: string | null;
  /** Null: as configured. */
  readonly thinkingMode: "never" | "on_error" | "always" | null;
  /** Absent: as the agent or the model is configured. */
  readonly thinkingLevel?: ThinkingLevel;
  readonly contract: ContractOverrides;
  /** Absent: none. */
  readonly supplied?: SuppliedContext;
  /** Tools the operator approves for this run alone. */
  readonly approvedTools: readonly string[];
  /** The sender waits for the end and cannot be asked: calls that need an approval are denied. */
  readonly isUnattended?: true;
  /** Absent: with no session id, a session of its own. */
  readonly begins?: BegunSession;
  /** The channel's own id of the message, which makes it one message however often it comes. Absent: it has none. */
  readonly inbound?: InboundId;
  /** Who reads the answer; set by the channel that took the message, never by a client. Absent: the person at this machine. */
  readonly channelClass?: ChannelClass;
  /** Of what the message quotes, beside its sender's own. Absent: it quotes nothing. */
  readonly labels?: Labels;
  /** Where the answer is delivered. Absent: the client fetches it. */
  readonly reply?: ReplyAddress;
  readonly source: string;
  readonly principal: string;
  readonly idempotencyKey: string | null;
}

export function runRequestOf(
  input: Omit<RunInput, "media">,
  { source, principal, idempotencyKey }: Caller,
  { media = [], files = [] }: Pick<RunRequest, "media" | "files"> = {},
): RunRequest {
  const { agentId, message, thinkingLevel, sessionId, model, unattended, ...asked } = fromWire(input);
  const { instructions = null, history = [] } = asked;
  return {
    agentId,
    message,
    ...(media.length === 0 ? {} : { media }),
    ...(files.length === 0 ? {} : { files }),
    sessionId: sessionId === undefined ? null : asSessionId(sessionId),
    model: typeof model === "object" ? `${model.provider}:${model.model}` : (model ?? null),
    thinkingMode: asked.thinkingMode ?? null,
    ...(thinkingLevel === undefined ? {} : { thinkingLevel }),
    contract: asked.contract ?? {},
    ...(instructions === null && history.length === 0 ? {} : { supplied: { instructions, history } }),
    approvedTools: asked.approvedTools ?? [],
    ...(unattended === true ? { isUnattended: true } : {}),
    source,
    principal,
    idempotencyKey,
  };
}

/**
 * Tells whether two requests under one idempotency key are the same: same fields and principal, from any source.
 *
 * Key and request may be secret, so only hashes are stored; the request's is salted with the key, so that reading the
 * database does not allow guessing requests.
 */
export function idempotencyOf({ idempotencyKey, source: _source, ...asked }: RunRequest): Idempotency | null {
  if (idempotencyKey === null) return null;
  // A message of a conversation is the same message whichever session its sender has by now.
  const { begins: _begins, sessionId: _session, ...said } = asked;
  const request = asked.inbound === undefined ? asked : said;
  return { keyHash: hashBytes(idempotencyKey), requestHash: hashBytes(sortedJson([idempotencyKey, request])) };
}

/** Not canonical JSON, which takes valid Unicode only: the request is not checked yet. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
