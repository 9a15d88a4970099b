/** A server of Anthropic's Messages API on loopback that does what a script says, to requests that keep its rules. */
import { findBrokenRule, type MessagesRequestBody } from "./messages-rules.ts";
import { encodeDocument, encodeEvents } from "./messages-wire.ts";
import { json } from "./openai-server.ts";
import {
  type ScriptedReply,
  type ScriptedRequest,
  type ScriptedServer,
  type ServerOptions,
  startScriptedServer,
  type Wire,
} from "./scripted-server.ts";

export type ReceivedMessages = ScriptedRequest<MessagesRequestBody>;
export type AnthropicServer = ScriptedServer<MessagesRequestBody>;

const WIRE: Wire<MessagesRequestBody> = { path: "/v1/messages", encodeDocument, encodeEvents, refuse };

export function startAnthropicServer(
  script: (request: ReceivedMessages, index: number) => ScriptedReply,
  options: ServerOptions = {},
): Promise<AnthropicServer> {
  return startScriptedServer(WIRE, script, options);
}

function refuse({ headers, body }: ReceivedMessages): ScriptedReply | null {
  const broken = headers["anthropic-version"] === undefined ? "anthropic-version: required" : findBrokenRule(body);
  if (broken === null) return null;
  return json(400, { type: "error", error: { type: "invalid_request_error", message: broken } });
}
