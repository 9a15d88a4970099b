/**
 * A model behind a wire protocol. The adapter speaks the wire and judges nothing: what the model wrote comes back as
 * `RawModelOutput`, and the kernel's protocol adapter reads it.
 *
 * B1. `complete` never rejects for what a provider does; a failure is a value with its own code.
 * B2. When the signal aborts, the request ends on the wire (the socket closes) and `complete` settles soon after.
 * B3. `retryable` is said only of faults before the first byte of an answer that may pass by themselves.
 * B4. `check` and `inspect` never cost a completion.
 */
import type { RawModelOutput } from "../../kernel/protocol/raw-model-output.ts";
import type { ModelPrice } from "../../kernel/vocabulary/model-price.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { ImageFacts, ImageSize } from "../model/image-facts.ts";

/** Text in it has its markers escaped already where it is not the model's own. */
export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  /** Images are for a model that has `vision`, and for no other. */
  | { readonly role: "user"; readonly content: string; readonly images?: readonly PromptImage[] }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls: readonly PromptCall[];
      /** What the model thought before its calls, as its backend wrote it (`Thoughts.kept`). */
      readonly thoughts?: JsonValue;
    }
  | { readonly role: "tool"; readonly callId: string; readonly tool: string; readonly content: string };

export interface PromptImage extends ImageFacts {
  /** Base64. */
  readonly data: string;
}

export interface PromptCall {
  readonly id: string;
  /** The registered name; wire spelling is the adapter's. */
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
  readonly maxOutputTokens: number;
  /** How much to think before answering (T-2.2); absent: as the provider sees fit. */
  readonly effort?: ThinkingLevel;
  /** Absent: the provider's default. Runs never set it; the embedding API does. */
  readonly temperature?: number;
}

/** What a provider wants back beside the calls of an answer, in a form that only its backend reads. */
export interface Thoughts {
  readonly kept: JsonValue;
  /** The provider knows its own words again: they go back unchanged, or not at all. */
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
      /** What the model thought before it answered, where the provider tells: no part of the answer, shown to nobody. */
      readonly reasoning?: string;
      /** Absent where nothing is wanted back; otherwise it is, where the answer has calls. */
      readonly thoughts?: Thoughts;
      /** Null where the provider did not say. */
      readonly usage: ModelUsage | null;
      /** Milliseconds from the request to the first and the last piece of the answer. */
      readonly stream: { readonly chunks: number; readonly firstMs: number; readonly lastMs: number };
    }
  | {
      readonly ok: false;
      /** `provider.rate-limited`, `provider.http-500`, `provider.unreachable`, `provider.cut-off` …: no content. */
      readonly code: string;
      readonly retryable: boolean;
      /** How long the provider wants to be left alone, also where that is too long to be tried again; 0: it did not say. */
      readonly retryAfterMs: number;
      /** Nothing, where nobody answered; null where what it cost is not known. */
      readonly usage: ModelUsage | null;
    };

export interface ModelBackend {
  /** May a run be begun with it? */
  check(signal: AbortSignal): Promise<{ readonly responsive: boolean; readonly detail: string }>;
  /** Would the model answer, as far as its provider says? `detail`: what was found, or what is wrong. */
  inspect(signal: AbortSignal): Promise<{ readonly ok: boolean; readonly detail: string }>;
  complete(
    request: ModelRequest,
    watch: { readonly signal: AbortSignal; readonly onText: ((text: string) => void) | null },
  ): Promise<ModelReply>;
}

/** Of one message: its text and its framing. */
export interface TokenCounter {
  /** Loads the model's tokenizer; before that `count` is an estimate. Null where there is none to load. */
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
  /** What preflight compares the contract with. */
  readonly profile: {
    readonly id: string;
    readonly adapterVersion: string;
    readonly supportsTools: boolean;
    readonly holdsRequired: boolean;
    readonly grammarProfiles: readonly string[];
  };
  readonly tokens: TokenCounter;
  /** What an image costs it, as far as that is known beforehand; absent where it sees none. */
  readonly vision?: { readonly imageTokens: (image: ImageSize) => number };
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** Absent where it cannot be told how much to think; `level` where nobody says otherwise, null: as it sees fit. */
  readonly thinking?: {
    readonly level: ThinkingLevel | null;
    /** It is known to think where it is told nothing, too. */
    readonly isByItself?: boolean;
  };
  /** Null where the operator named none. */
  readonly price: ModelPrice | null;
  /** Costs nothing by its owner's word, so that spending limits need no price. */
  readonly isFree: boolean;
}
