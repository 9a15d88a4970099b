/**
 * The wire protocol `openai-chat`: chat completions as OpenAI defined them and many servers speak them.
 *
 * It streams when somebody listens and asks for one JSON document when nobody does.
 */
import type { Clock } from "../../../runtime/ports/clock.ts";
import type { ModelBackend } from "../../../runtime/ports/model-backend.ts";
import { AnswerReader } from "../answer-reader.ts";
import { watchHealth } from "../health.ts";
import { type HttpOrigin, openOrigin } from "../http-exchange.ts";
import type { Profile } from "../profile.ts";
import { fault } from "../provider-fault.ts";
import { CHAT_ANSWER } from "./chat-answer.ts";
import { translatesEffort } from "./effort-fields.ts";
import { type ChatDialect, encodeRequest } from "./encode-request.ts";

interface ChatServer {
  /** Up to and without `/chat/completions`. */
  readonly baseUrl: URL;
  /** Asked for each request, so that a new key needs no restart; null where the server wants none. */
  readonly apiKey: () => string | null;
  readonly profile: Profile;
  readonly clock: Clock;
  /** How the server is reached; absent: over connections of our own. */
  readonly origin?: HttpOrigin;
}

export function openaiChat(server: ChatServer): ModelBackend {
  const { baseUrl, apiKey, profile, clock, origin = openOrigin(baseUrl.origin, clock) } = server;
  const basePath = baseUrl.pathname.replace(/\/+$/, "");
  const path = `${basePath}/chat/completions`;
  const dialect: ChatDialect = {
    limitField: baseUrl.hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens",
    translatesEffort: translatesEffort(baseUrl),
  };
  return {
    check: watchHealth({
      origin,
      name: baseUrl.origin,
      path: `${basePath}/models`,
      headers: () => authorization(apiKey()),
      clock,
    }),
    async complete(request, { signal, onText }) {
      const authorized = authorization(apiKey());
      if (authorized === null) return fault("provider.invalid-key");
      const headers = ["content-type", "application/json", ...authorized];
      const body = encodeRequest(profile.rewrite(request), onText !== null, dialect);
      const reader = new AnswerReader(CHAT_ANSWER, clock, onText, request.maxOutputTokens);
      return reader.replyAt(await origin.exchange({ method: "POST", path, headers, body }, reader, signal));
    },
  };
}

/** Null for what cannot be a key: a line end pasted along with one would begin another header. */
function authorization(key: string | null): readonly string[] | null {
  if (key === null) return [];
  return /^[\x21-\x7e]+$/.test(key) ? ["authorization", `Bearer ${key}`] : null;
}
