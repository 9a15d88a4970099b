/** The wire protocol `openai-chat`: chat completions as defined by OpenAI and offered by many servers. */
import type { ModelBackend } from "../../../runtime/ports/model-backend.ts";
import { httpBackend, type ModelServer } from "../http-backend.ts";
import { CHAT_ANSWER } from "./chat-answer.ts";
import { translatesEffort } from "./effort-fields.ts";
import { type ChatDialect, encodeRequest } from "./encode-request.ts";

export function openaiChat(server: ModelServer): ModelBackend {
  const { provider, baseUrl } = server;
  // A provider called openai may be a proxy in front of OpenAI.
  const isOpenAi = provider === "openai" || baseUrl.hostname === "api.openai.com";
  const basePath = baseUrl.pathname.replace(/\/+$/, "");
  const dialect: ChatDialect = {
    limitField: isOpenAi ? "max_completion_tokens" : "max_tokens",
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
