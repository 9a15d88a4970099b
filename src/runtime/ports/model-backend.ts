/**
 * A model behind a wire protocol. The adapter only translates: the model's output comes back as `RawModelOutput`, and the
 * kernel's protocol adapter parses it.
 *
 * `complete` never rejects because of a provider; a failure is a value with a code. When the signal aborts, the socket closes
 * and `complete` settles soon after. Only temporary faults before the first byte of an answer are `retryable`. `check` and
 * `inspect` never cost a completion.
 */
import type { GrammarForm } from "../../kernel/protocol/grammar/derive-constraint.ts";
import type { GrammarEntry } from "../../kernel/protocol/grammar/derive-grammar.ts";
import type { RawModelOutput } from "../../kernel/protocol/raw-model-output.ts";
import type { ModelPrice } from "../../kernel/vocabulary/model-price.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { ImageFacts, ImageSize } from "../model/image-facts.ts";

/** Markers are escaped already in text that the model did not write. */
export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  /** Images only for a model that has `vision`. */
  | { readonly role: "user"; readonly content: string; readonly images?: readonly PromptImage[] }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls: readonly PromptCall[];
      /** The model's reasoning before its calls, in the backend's form (`Thoughts.kept`). */
      readonly thoughts?: JsonValue;
    }
  | { readonly role: "tool"; readonly callId: string; readonly tool: string; readonly content: string };

export interface PromptImage extends ImageFacts {
  /** Base64. */
  readonly data: string;
}

export interface PromptCall {
  readonly id: string;
  /** The registered name; the adapter maps it to the wire's form. */
  readonly tool: string;
  readonly argumentsText: string;
}

export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: object;
}

export interface ModelRequest {
  /** The provider's own name for it. */
  readonly model: string;
  readonly messages: readonly PromptMessage[];
  readonly tools: readonly ToolOffer[];
  readonly toolChoice: "auto" | "required" | "none";
  /** Absent: the answer is a plain text, or the provider's own calls. */
  readonly constraint?: AnswerConstraint;
  /** Added to the logits of the tokens, by their ids; for a model in this process only. */
  readonly logitsMask?: readonly number[];
  readonly maxOutputTokens: number;
  /** Reasoning effort (T-2.2); absent: the provider's default. */
  readonly effort?: ThinkingLevel;
  /** Absent: the provider's default. Runs never set it; the embedding API does. */
  readonly temperature?: number;
}

/** The answer is a document of `grammar-json`. */
export interface AnswerConstraint {
  readonly entry: GrammarEntry;
  /** The contract's, in the model's form; null: decoding is not constrained. */
  readonly grammar: string | null;
}

/** Reasoning that the provider expects back with the calls of an answer, in a form that only its backend reads. */
export interface Thoughts {
  readonly kept: JsonValue;
  /** The provider verifies it: it goes back unchanged, or not at all. */
  readonly isSigned: boolean;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export type ModelReply =
  | {
      readonly ok: true;
      readonly raw: RawModelOutput;
      /** The model's reasoning, if the provider reports it: no part of the answer, never shown. */
      readonly reasoning?: string;
      /** To be sent back if the answer has calls; absent where the provider expects none. */
      readonly thoughts?: Thoughts;
      /** Null if the provider did not report it. */
      readonly usage: ModelUsage | null;
      /** Milliseconds from the request to the first and the last piece of the answer. */
      readonly stream: { readonly chunks: number; readonly firstMs: number; readonly lastMs: number };
    }
  | {
      readonly ok: false;
      /** `provider.rate-limited`, `provider.http-500`, `provider.unreachable`, `provider.cut-off` …: no content. */
      readonly code: string;
      readonly retryable: boolean;
      /** The provider's requested delay, even if it is too long to wait; 0: none requested. */
      readonly retryAfterMs: number;
      /** The provider's own words, without its key but unredacted; absent if it gave none. */
      readonly words?: string;
      /** Zero if the provider did not answer; null if the cost is unknown. */
      readonly usage: ModelUsage | null;
    };

export interface ModelBackend {
  /** Whether a run may start with this model. */
  check(signal: AbortSignal): Promise<{ readonly responsive: boolean; readonly detail: string }>;
  /** Whether the model would answer, as far as its provider says; `detail` is what was found, or the problem. */
  inspect(signal: AbortSignal): Promise<{ readonly ok: boolean; readonly detail: string }>;
  complete(
    request: ModelRequest,
    watch: { readonly signal: AbortSignal; readonly onText: ((text: string) => void) | null },
  ): Promise<ModelReply>;
}

/** Counts one message: its text and its framing. */
export interface TokenCounter {
  /** Loads the model's tokenizer; before that, `count` is an estimate. Null where there is none to load. */
  readonly prepare: (() => Promise<void>) | null;
  readonly count: (text: string) => number;
}

/** A configured model as contracts are drafted for it. */
export interface ConfiguredModel {
  /** `provider:model`. */
  readonly ref: string;
  readonly provider: string;
  readonly model: string;
  readonly backend: ModelBackend;
  /** Compared with the contract in preflight. */
  readonly profile: {
    readonly id: string;
    readonly adapterVersion: string;
    readonly supportsTools: boolean;
    readonly holdsRequired: boolean;
    readonly grammarProfiles: readonly string[];
  };
  /** The form of grammar that its backend applies; absent: none. */
  readonly grammar?: GrammarForm;
  readonly tokens: TokenCounter;
  /** Estimated tokens of an image; absent where the model takes no images. */
  readonly vision?: { readonly imageTokens: (image: ImageSize) => number };
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** Absent where effort cannot be set. `level` is the configured default; null: the provider's. */
  readonly thinking?: {
    readonly level: ThinkingLevel | null;
    /** It reasons even without an effort. */
    readonly isByItself?: boolean;
  };
  /** Null where none is configured. */
  readonly price: ModelPrice | null;
  /** Configured as free, so that spending limits need no price. */
  readonly isFree: boolean;
}
