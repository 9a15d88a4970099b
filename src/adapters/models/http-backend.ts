/**
 * A model behind HTTP: what the wire protocols share. It streams when there is a listener for text, and otherwise asks
 * for one JSON document.
 *
 * B1. The key is read for each request, so a new one needs no restart. A malformed key is not sent: a pasted line break
 *     would start another header.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ModelBackend, ModelRequest } from "../../runtime/ports/model-backend.ts";
import type { AnswerDraft, AnswerProtocol } from "./answer-draft.ts";
import { AnswerReader } from "./answer-reader.ts";
import { healthChecks } from "./health.ts";
import { type HttpOrigin, openOrigin } from "./http-exchange.ts";
import type { Profile } from "./profile.ts";
import { fault, unanswered } from "./provider-fault.ts";

export interface ModelServer {
  /** The provider's id. */
  readonly provider: string;
  /** The provider's name for the model. */
  readonly model: string;
  readonly baseUrl: URL;
  /** Null if the server needs none. */
  readonly apiKey: () => string | null;
  /** The variable that holds it; null if unknown. */
  readonly keyName: string | null;
  readonly profile: Profile;
  readonly clock: Clock;
  /** Absent: opened here. */
  readonly origin?: HttpOrigin;
}

/** One wire protocol. Headers are names and values in turn. */
export interface WireProtocol<Draft extends AnswerDraft> {
  readonly path: string;
  readonly modelsPath: string;
  readonly identify: (key: string | null) => readonly string[];
  readonly encode: (request: ModelRequest, isStreamed: boolean) => string;
  readonly answer: AnswerProtocol<Draft>;
}

export function httpBackend<Draft extends AnswerDraft>(
  { model, baseUrl, apiKey, keyName, profile, clock, origin = openOrigin(baseUrl.origin, clock) }: ModelServer,
  { path, modelsPath, identify, encode, answer }: WireProtocol<Draft>,
): ModelBackend {
  const identity = (): readonly string[] | null => {
    const key = apiKey();
    return key === null || /^[\x21-\x7e]+$/.test(key) ? identify(key) : null;
  };
  return {
    ...healthChecks({ origin, name: baseUrl.origin, model, keyName, path: modelsPath, headers: identity, clock }),
    async complete(request, { signal, onText }) {
      const identified = identity();
      if (identified === null) return unanswered(fault("provider.invalid-key"));
      const headers = ["content-type", "application/json", ...identified];
      const body = encode(profile.rewrite(request), onText !== null);
      const reader = new AnswerReader(answer, clock, onText, request.maxOutputTokens);
      const reply = reader.replyAt(await origin.exchange({ method: "POST", path, headers, body }, reader, signal));
      return reply.ok || reply.words === undefined ? reply : { ...reply, words: withoutKey(reply.words, apiKey()) };
    },
  };
}

/** Some providers quote the key they refuse. */
function withoutKey(words: string, key: string | null): string {
  return key === null ? words : words.replaceAll(key, "[API key]");
}
