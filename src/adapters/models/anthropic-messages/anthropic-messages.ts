/** The wire protocol `anthropic-messages`: Anthropic's Messages API, which other providers offer too. */
import type { ModelBackend } from "../../../runtime/ports/model-backend.ts";
import { httpBackend, type ModelServer } from "../http-backend.ts";
import { encodeRequest } from "./encode-request.ts";
import { MESSAGE_ANSWER } from "./message-answer.ts";

const VERSION = ["anthropic-version", "2023-06-01"];

/** The base URL may end in `/v1`, as in other clients. */
export function anthropicMessages(server: ModelServer): ModelBackend {
  const basePath = server.baseUrl.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return httpBackend(server, {
    path: `${basePath}/v1/messages`,
    modelsPath: `${basePath}/v1/models`,
    identify: (key) => (key === null ? VERSION : [...VERSION, "x-api-key", key]),
    encode: encodeRequest,
    answer: MESSAGE_ANSWER,
  });
}
