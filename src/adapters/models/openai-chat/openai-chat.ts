/** The wire protocol `openai-chat`: chat completions as OpenAI defined them and many servers speak them. */
import type { ModelBackend } from "../../../runtime/ports/model-backend.ts";
import { httpBackend, type ModelServer } from "../http-backend.ts";
import { CHAT_ANSWER } from "./chat-answer.ts";
import { translatesEffort } from "./effort-fields.ts";
import { type ChatDialect, encodeRequest } from "./encode-request.ts";

/** The base is all up to and without `/chat/completions`. */
export function openaiChat(server: ModelServer): ModelBackend {
  const { baseUrl } = server;
  const basePath = baseUrl.pathname.replace(/\/+$/, "");
  const dialect: ChatDialect = {
    limitField: baseUrl.hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens",
    translatesEffort: translatesEffort(baseUrl),
  };
  return httpBackend(server, {
    path: `${basePath}/chat/completions`,
    modelsPath: `${basePath}/models`,
    identify: (key) => (key === null ? [] : ["authorization", `Bearer ${key}`]),
    encode: (request, isStreamed) => encodeRequest(request, isStreamed, dialect),
    answer: CHAT_ANSWER,
  });
}
