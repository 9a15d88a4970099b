/**
 * The wire protocol `anthropic-messages`: Anthropic's Messages API, which other providers offer too.
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
import { encodeRequest } from "./encode-request.ts";
import { MESSAGE_ANSWER } from "./message-answer.ts";

const API_VERSION = "2023-06-01";

interface MessagesServer {
  /** Up to and without `/v1/messages`, as the provider's own clients have it; a `/v1` at its end is welcome. */
  readonly baseUrl: URL;
  /** Asked for each request, so that a new key needs no restart; null where the server wants none. */
  readonly apiKey: () => string | null;
  readonly profile: Profile;
  readonly clock: Clock;
  /** How the server is reached; absent: over connections of our own. */
  readonly origin?: HttpOrigin;
}

export function anthropicMessages(server: MessagesServer): ModelBackend {
  const { baseUrl, apiKey, profile, clock, origin = openOrigin(baseUrl.origin, clock) } = server;
  const basePath = baseUrl.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  const path = `${basePath}/v1/messages`;
  const name = baseUrl.origin;
  return {
    check: watchHealth({ origin, name, path: `${basePath}/v1/models`, headers: () => identify(apiKey()), clock }),
    async complete(request, { signal, onText }) {
      const identity = identify(apiKey());
      if (identity === null) return fault("provider.invalid-key");
      const headers = ["content-type", "application/json", ...identity];
      const body = encodeRequest(profile.rewrite(request), onText !== null);
      const reader = new AnswerReader(MESSAGE_ANSWER, clock, onText, request.maxOutputTokens);
      return reader.replyAt(await origin.exchange({ method: "POST", path, headers, body }, reader, signal));
    },
  };
}

/** Null for what cannot be a key: a line end pasted along with one would begin another header. */
function identify(key: string | null): readonly string[] | null {
  const version = ["anthropic-version", API_VERSION];
  if (key === null) return version;
  return /^[\x21-\x7e]+$/.test(key) ? [...version, "x-api-key", key] : null;
}
