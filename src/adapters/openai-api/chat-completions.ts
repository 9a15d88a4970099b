/** POST /v1/chat/completions: a conversation, or one message of a session, answered by an agent. */
import type { Caller } from "../../runtime/operations/operation.ts";
import { DONE, type EventWriter, eventOf, streamOf } from "./event-body.ts";
import type { ApiError } from "./openai-error.ts";
import { invalid } from "./openai-error.ts";
import { type Answer, type Performance, perform } from "./perform-run.ts";
import { conversationOf } from "./read-messages.ts";
import {
  checkParameters,
  effortIn,
  type Fields,
  flagIn,
  isFields,
  NO_TOOLS_OF_CLIENTS,
  type ParameterRules,
  readFields,
  tokensIn,
} from "./read-parameters.ts";
import { type ApiServices, askedOf, headersOf } from "./read-target.ts";

const RULES: ParameterRules = {
  used: [
    ...["model", "messages", "stream", "stream_options", "user"],
    ...["max_tokens", "max_completion_tokens", "reasoning_effort", "tool_choice"],
  ],
  harmless: [
    ...["store", "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"],
    ...["service_tier", "parallel_tool_calls"],
  ],
  fixed: {
    ...{ n: [1], temperature: [1], top_p: [1], presence_penalty: [0], frequency_penalty: [0] },
    ...{ logprobs: [false], top_logprobs: [0], logit_bias: [{}], verbosity: ["medium"] },
    ...{ response_format: [{ type: "text" }], modalities: [["text"]] },
  },
  refused: {
    ...{ tools: NO_TOOLS_OF_CLIENTS, functions: NO_TOOLS_OF_CLIENTS, function_call: NO_TOOLS_OF_CLIENTS },
    stop: "Answers are not cut. Leave it out.",
    seed: "Answers are not made from a seed. Leave it out.",
    audio: "Answers are text. Leave it out.",
    prediction: "Predicted output is not used. Leave it out.",
    web_search_options: "The agent searches with its own tools. Leave it out.",
  },
};

export async function chatCompletions(services: ApiServices, request: Request, caller: Caller): Promise<Response> {
  const fields = await readFields(request);
  checkParameters(fields, RULES);
  const { asked, model } = askedOf(services, request, fields, (isAlone) => ({
    ...conversationOf(fields["messages"], "messages", isAlone),
    maxOutputTokens: tokensIn(fields, "max_completion_tokens") ?? tokensIn(fields, "max_tokens"),
    thinkingLevel: effortIn(fields["reasoning_effort"], "reasoning_effort"),
    mayCallTools: mayCallTools(fields),
  }));
  const isStreamed = flagIn(fields, "stream");
  const withUsage = includesUsage(fields, isStreamed);
  const performance = await perform(services, asked, caller, request.signal);
  const shared = {
    id: `chatcmpl-${performance.runId ?? "command"}`,
    created: secondsOf(services.clock.nowMs()),
    model,
  };
  const headers = headersOf(performance);
  if (isStreamed) return await streamOf(performance, chunkWriter(shared, withUsage), headers);
  const answer = await answerOf(performance);
  const message = { role: "assistant", content: answer.output, refusal: null, annotations: [] };
  const choice = { index: 0, message, logprobs: null, finish_reason: "stop" };
  const completion = { ...shared, object: "chat.completion", choices: [choice], usage: usageOf(answer) };
  return Response.json(completion, { headers });
}

function mayCallTools(fields: Fields): boolean {
  const choice = fields["tool_choice"] ?? "auto";
  if (choice === "auto" || choice === "none") return choice === "auto";
  throw invalid(
    "tool_choice",
    "tool_choice can only be auto or none: the agent's tools are its own.",
    "unsupported_value",
  );
}

function includesUsage(fields: Fields, isStreamed: boolean): boolean {
  const options = fields["stream_options"] ?? null;
  if (options === null) return false;
  if (!isStreamed) throw invalid("stream_options", "stream_options is for streamed answers: set stream to true.");
  if (!isFields(options)) throw invalid("stream_options", "stream_options must be an object.");
  checkParameters(options, {
    ...{ used: ["include_usage"], harmless: ["include_obfuscation"], fixed: {}, refused: {} },
  });
  return flagIn(options, "include_usage");
}

/** Runs to the end. */
export async function answerOf({ progress }: Performance): Promise<Answer> {
  for await (const each of progress) if (each.kind === "done") return each.answer;
  throw new Error("the run ended without an answer");
}

export const secondsOf = (ms: number): number => Math.floor(ms / 1000);

function usageOf({ inputTokens, outputTokens }: Answer): object {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

interface Shared {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

function chunkWriter(shared: Shared, withUsage: boolean): EventWriter {
  const chunk = (choices: readonly object[], usage: object | null = null): string =>
    eventOf({ ...shared, object: "chat.completion.chunk", choices, ...(withUsage ? { usage } : {}) });
  const choice = (delta: object, finish_reason: string | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason },
  ];
  return {
    begin: () => chunk(choice({ role: "assistant", content: "", refusal: null })),
    write(progress) {
      if (progress.kind === "text") return chunk(choice({ content: progress.text }));
      const usage = withUsage ? chunk([], usageOf(progress.answer)) : "";
      return chunk(choice({}, "stop")) + usage + DONE;
    },
    fail: ({ error }: ApiError) => eventOf({ error }) + DONE,
  };
}
