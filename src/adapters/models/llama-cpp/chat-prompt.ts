/**
 * A conversation as node-llama-cpp renders it with the model's own chat template. Markers of the template within messages
 * are text, because a message's text is tokenized without special tokens.
 *
 * Templates know one system message, first, and no role for results: later instructions and results are written as the
 * user's messages.
 */
import type { PromptMessage } from "../../../runtime/ports/model-backend.ts";
import type { Token } from "./llama-package.ts";
import type { LoadedModel } from "./local-models.ts";

export interface ChatPrompt {
  readonly tokens: readonly Token[];
  /** Texts with which the template ends a message; a model may write them without its end token. */
  readonly stops: readonly string[];
}

export function chatPrompt({ model, wrapper }: LoadedModel, messages: readonly PromptMessage[]): ChatPrompt {
  const chatHistory = [...messages.map(toItem), { type: "model", response: [] }];
  const { contextText, stopGenerationTriggers } = wrapper.generateContextState({ chatHistory });
  return { tokens: contextText.tokenize(model.tokenizer), stops: stopGenerationTriggers.flatMap(textsOf) };
}

function toItem({ role, content }: PromptMessage, index: number): object {
  if (role === "assistant") return { type: "model", response: [content] };
  return { type: role === "system" && index === 0 ? "system" : "user", text: content };
}

/** A trigger is a text, or a list of texts and tokens; only plain texts are looked for. */
function textsOf(trigger: unknown): readonly string[] {
  const { values = [trigger] } = (typeof trigger === "object" ? trigger : {}) as {
    readonly values?: readonly unknown[];
  };
  const [only, ...others] = values;
  return typeof only === "string" && only !== "" && others.length === 0 ? [only] : [];
}
