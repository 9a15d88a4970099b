/** POST /v1/responses: as chat completions, in the shapes of OpenAI's Responses API. */
import type { OperationClient } from "../../assistant/operations.ts";
import { asRunId, asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Caller } from "../../runtime/operations/operation.ts";
import { answerOf, secondsOf } from "./chat-completions.ts";
import { type EventWriter, eventOf, streamOf } from "./event-body.ts";
import { type ApiError, invalid } from "./openai-error.ts";
import { type Answer, perform } from "./perform-run.ts";
import { type Conversation, conversationOf } from "./read-messages.ts";
import {
  checkParameters,
  effortIn,
  type Fields,
  flagIn,
  isFields,
  NO_TOOLS_OF_CLIENTS,
  type ParameterRules,
  readFields,
  textIn,
  tokensIn,
} from "./read-parameters.ts";
import { type ApiServices, askedOf, headersOf } from "./read-target.ts";

const RULES: ParameterRules = {
  used: ["model", "input", "instructions", "stream", "user", "max_output_tokens", "reasoning", "previous_response_id"],
  harmless: [
    ...["store", "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"],
    ...["service_tier", "parallel_tool_calls", "stream_options"],
  ],
  fixed: {
    ...{ temperature: [1], top_p: [1], top_logprobs: [0], background: [false], truncation: ["disabled"] },
    ...{ tool_choice: ["auto"], text: [{ format: { type: "text" } }, {}] },
  },
  refused: {
    tools: NO_TOOLS_OF_CLIENTS,
    include: "A response holds the answer alone: the run has the rest. Leave it out.",
    conversation: "Conversations of this API are not kept: name a session in the header x-surety-session.",
    prompt: "Prompts are not kept here: send instructions.",
    max_tool_calls: "The agent's contract bounds its calls. Leave it out.",
  },
};

export async function responses(services: ApiServices, request: Request, caller: Caller): Promise<Response> {
  const fields = await readFields(request);
  checkParameters(fields, RULES);
  const previous = textIn(fields, "previous_response_id");
  const before = previous === null ? null : await sessionOf(services.operations, previous, caller);
  if (before !== null && textIn(fields, "instructions") !== null) {
    throw invalid(
      "instructions",
      "Instructions count for a first response only: leave them out, or previous_response_id.",
    );
  }
  const read = (isAlone: boolean) => ({
    ...conversationIn(fields, isAlone),
    maxOutputTokens: tokensIn(fields, "max_output_tokens"),
    thinkingLevel: reasoningEffort(fields),
    mayCallTools: true,
  });
  const { asked, model } = askedOf(services, request, fields, read, before);
  const isStreamed = flagIn(fields, "stream");
  const performance = await perform(services, asked, caller, request.signal);
  const shared = {
    ...{ id: `resp_${performance.runId ?? "command"}`, object: "response", model },
    created_at: secondsOf(services.clock.nowMs()),
    instructions: textIn(fields, "instructions"),
    max_output_tokens: tokensIn(fields, "max_output_tokens"),
    metadata: isFields(fields["metadata"]) ? fields["metadata"] : {},
    previous_response_id: previous,
    ...{ error: null, incomplete_details: null, parallel_tool_calls: true, temperature: 1, top_p: 1 },
    ...{ tool_choice: "auto", tools: [], truncation: "disabled", text: { format: { type: "text" } } },
    reasoning: { effort: null, summary: null },
  };
  const headers = headersOf(performance);
  if (isStreamed) return await streamOf(performance, responseWriter(shared), headers);
  const answer = await answerOf(performance);
  return Response.json(completed(shared, answer, answer.output), { headers });
}

/** The session of an earlier response, if what it knows is what was said: all of it, and nothing after it. */
async function sessionOf(operations: OperationClient, previous: string, caller: Caller): Promise<string> {
  const refusal = (why: string) => invalid("previous_response_id", why, "previous_response_not_found");
  const found = /^resp_(run_[\w-]{1,120})$/.exec(previous)?.[1];
  const read = found === undefined ? null : await operations.call("runs.get", { id: asRunId(found) }, caller);
  if (found === undefined || read === null || !read.ok) throw refusal("There is no such response.");
  const { session_id } = read.value;
  const manifest = await operations.call("runs.manifest", { id: asRunId(found) }, caller);
  const layers = manifest.ok ? manifest.value.layers : [];
  const isSupplied = layers.some(({ turns = [] }) => turns.some((turn) => !turn.startsWith("run_")));
  if (isSupplied) {
    throw refusal("That response began with more than one message, which are not kept: send all messages as input.");
  }
  const session = await operations.call("sessions.get", { id: asSessionId(session_id), limit: 1 }, caller);
  const last = session.ok ? session.value.messages.findLast(({ runId }) => runId !== undefined) : undefined;
  if (last?.runId !== found) {
    throw refusal(
      "The conversation went on after that response: continue from its last one, or send all messages as input.",
    );
  }
  return session_id;
}

function conversationIn(fields: Fields, isAlone: boolean): Conversation {
  const { input } = fields;
  const messages = typeof input === "string" ? [{ role: "user", content: input }] : input;
  const said = conversationOf(messages, "input", isAlone);
  const instructions = [textIn(fields, "instructions"), said.instructions].filter((text) => text !== null);
  return { ...said, instructions: isAlone || instructions.length === 0 ? null : instructions.join("\n\n") };
}

function reasoningEffort(fields: Fields) {
  const reasoning = fields["reasoning"] ?? null;
  if (reasoning === null) return null;
  if (!isFields(reasoning)) throw invalid("reasoning", "reasoning must be an object.");
  const why = "A response holds no thoughts. Leave it out.";
  checkParameters(reasoning, {
    ...{ used: ["effort"], harmless: [], fixed: {}, refused: { summary: why, generate_summary: why } },
  });
  return effortIn(reasoning["effort"], "reasoning.effort");
}

type Shared = { readonly id: string } & Fields;

const messageId = ({ id }: Shared): string => `msg_${id}`;
const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const messageOf = (shared: Shared, status: string, content: readonly object[]) => ({
  ...{ type: "message", id: messageId(shared), status, role: "assistant", content },
});

function completed(shared: Shared, { inputTokens, outputTokens }: Answer, text: string): object {
  const usage = {
    ...{ input_tokens: inputTokens, input_tokens_details: { cached_tokens: 0 } },
    ...{ output_tokens: outputTokens, output_tokens_details: { reasoning_tokens: 0 } },
    total_tokens: inputTokens + outputTokens,
  };
  return { ...shared, status: "completed", output: [messageOf(shared, "completed", [textPart(text)])], usage };
}

function responseWriter(shared: Shared): EventWriter {
  let sequence = 0;
  let text = "";
  const event = (type: string, data: object): string => {
    sequence += 1;
    return eventOf({ type, sequence_number: sequence - 1, ...data }, type);
  };
  const open = { ...shared, status: "in_progress", output: [], usage: null };
  const place = { item_id: messageId(shared), output_index: 0, content_index: 0 };
  return {
    begin: () =>
      event("response.created", { response: open }) +
      event("response.in_progress", { response: open }) +
      event("response.output_item.added", { output_index: 0, item: messageOf(shared, "in_progress", []) }) +
      event("response.content_part.added", { ...place, part: textPart("") }),
    write(progress) {
      if (progress.kind === "text") {
        text += progress.text;
        return event("response.output_text.delta", { ...place, delta: progress.text, logprobs: [] });
      }
      const item = messageOf(shared, "completed", [textPart(text)]);
      return (
        event("response.output_text.done", { ...place, text, logprobs: [] }) +
        event("response.content_part.done", { ...place, part: textPart(text) }) +
        event("response.output_item.done", { output_index: 0, item }) +
        event("response.completed", { response: completed(shared, progress.answer, text) })
      );
    },
    fail: ({ error: { code, message } }: ApiError) =>
      event("response.failed", { response: { ...open, status: "failed", error: { code, message } } }),
  };
}
