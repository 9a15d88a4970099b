/** An OpenAI-compatible server on loopback that does what a script says. */
import { type ChatScript, encodeDocument, encodeEvents } from "./chat-wire.ts";
import {
  type Fate,
  type ScriptedReply,
  type ScriptedRequest,
  type ScriptedServer,
  type ServerOptions,
  startScriptedServer,
  type Wire,
} from "./scripted-server.ts";

export interface ChatRequestBody {
  readonly model: string;
  readonly messages: readonly (Readonly<Record<string, unknown>> & { readonly role: string })[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly tool_choice?: unknown;
  readonly max_tokens?: number;
  readonly reasoning_effort?: string;
  readonly stream?: boolean;
  readonly stream_options?: unknown;
}

export type Reply = ScriptedReply;
export type ReceivedRequest = ScriptedRequest<ChatRequestBody>;
export type OpenAiServer = ScriptedServer<ChatRequestBody>;
export type ServerScript = (request: ReceivedRequest, index: number) => Reply;

const WIRE: Wire<ChatRequestBody> = { path: "/chat/completions", encodeDocument, encodeEvents, refuse: () => null };

export function startOpenAiServer(script: ServerScript, options: ServerOptions = {}): Promise<OpenAiServer> {
  return startScriptedServer(WIRE, script, options);
}

/** Short forms for scripts. */
export function answer(script: ChatScript & Fate): Reply {
  return { kind: "answer", ...script };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return {
    kind: "http",
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

export function html(status: number): Reply {
  const body = `<!doctype html><html><body><h1>${status}</h1><p>upstream secret-detail</p></body></html>`;
  return { kind: "http", status, headers: { "content-type": "text/html" }, body };
}
