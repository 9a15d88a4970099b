/** A model that says what a script says. It is honest to the port: it streams, it can be cut off, it never rejects. */
import { encodeToolName } from "../../../src/kernel/protocol/tool-names.ts";
import { ESTIMATED_TOKENS } from "../../../src/runtime/model/estimate-tokens.ts";
import type {
  ConfiguredModel,
  ModelBackend,
  ModelReply,
  ModelRequest,
  ModelUsage,
} from "../../../src/runtime/ports/model-backend.ts";

export interface ScriptedCall {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

type Reaction = ModelReply | Promise<ModelReply>;
/** What is answered follows from the request alone, so that a model asked again after a crash says the same. */
export type ModelScript = (request: ModelRequest, signal: AbortSignal) => Reaction;

export interface ScriptedModel extends ConfiguredModel {
  /** Every request that reached it, and whether it was cut off. */
  readonly requests: readonly { readonly request: ModelRequest; readonly signal: AbortSignal }[];
}

const USAGE: ModelUsage = { inputTokens: 40, outputTokens: 10 };

export function scriptedModel(script: ModelScript, also: Partial<ConfiguredModel> = {}): ScriptedModel {
  const requests: { request: ModelRequest; signal: AbortSignal }[] = [];
  const backend: ModelBackend = {
    check: () => Promise.resolve({ responsive: true, detail: "" }),
    inspect: () => Promise.resolve({ ok: true, detail: "" }),
    async complete(request, { signal, onText }) {
      requests.push({ request, signal });
      const { promise: cutOff, resolve } = Promise.withResolvers<ModelReply>();
      signal.addEventListener("abort", () => resolve(fault("provider.cancelled")));
      const reply = await Promise.race([script(request, signal), cutOff]);
      if (reply.ok) for (const piece of reply.raw.content.match(/.{1,7}/gsu) ?? []) onText?.(piece);
      return reply;
    },
  };
  return {
    ref: "scripted:model",
    provider: "scripted",
    model: "model",
    backend,
    profile: {
      id: "native-tools",
      adapterVersion: "native-tools@2",
      supportsTools: true,
      holdsRequired: true,
      grammarProfiles: [],
    },
    tokens: ESTIMATED_TOKENS,
    contextWindow: 100_000,
    maxOutputTokens: 1000,
    price: null,
    isFree: true,
    requests,
    ...also,
  };
}

export function says(content: string, usage: ModelUsage | null = USAGE): ModelReply {
  return replied({ content, toolCalls: [], stopReason: "stop" }, usage);
}

export function calls(asked: readonly ScriptedCall[], content = "", usage: ModelUsage | null = USAGE): ModelReply {
  const toolCalls = asked.map(({ id, tool, args }) => ({
    id,
    name: encodeToolName(tool),
    argumentsText: JSON.stringify(args),
  }));
  return replied({ content, toolCalls, stopReason: "tool_calls" }, usage);
}

/** A call whose arguments are no JSON. */
export function babbles(): ModelReply {
  const toolCalls = [{ id: "call_x", name: "look__at", argumentsText: '{"thing": ' }];
  return replied({ content: "", toolCalls, stopReason: "tool_calls" }, USAGE);
}

export function fault(code: string, retryable = false): ModelReply {
  return { ok: false, code, retryable, retryAfterMs: 0, usage: null };
}

/** A provider's refusal: no answer, no cost. */
export function refusal(code: string, retryable = false): ModelReply {
  return { ok: false, code, retryable, retryAfterMs: 0, usage: { inputTokens: 0, outputTokens: 0 } };
}

/** One reaction a turn, by how many answers of the model the conversation holds; after the last it closes. */
export function inTurns(...turns: readonly (ModelReply | ModelScript)[]): ModelScript {
  return (request, signal) => {
    const turn = turns[turnOf(request)] ?? says("done");
    return typeof turn === "function" ? turn(request, signal) : turn;
  };
}

function turnOf({ messages }: ModelRequest): number {
  return messages.filter(({ role }) => role === "assistant").length;
}

export function isRepair({ messages }: ModelRequest): boolean {
  return messages.at(-1)?.role === "system" && messages.length > 2;
}

/** What the run was asked. */
export function askedFor({ messages }: ModelRequest): string {
  return messages.findLast(({ role }) => role === "user")?.content ?? "";
}

function replied(
  said: {
    readonly content: string;
    readonly toolCalls: readonly { id: string; name: string; argumentsText: string }[];
    readonly stopReason: string;
  },
  usage: ModelUsage | null,
): ModelReply {
  return {
    ok: true,
    raw: { ...said, model: "scripted-1", complete: true },
    usage,
    stream: { chunks: 1, firstMs: 1, lastMs: 2 },
  };
}
