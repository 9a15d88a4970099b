/** A model whose answers a test writes down beforehand: by the message, and by how often it was asked about it. */
import type { ChatScript } from "../loopback/chat-wire.ts";
import { answer, type OpenAiServer, type ReceivedRequest, startOpenAiServer } from "../loopback/openai-server.ts";
import type { Fate } from "../loopback/scripted-server.ts";

/** `results`: of calls that were made for this message. */
export type Script = (asked: string, results: number, times: number) => ChatScript & Fate;

export async function startScriptedModel(script: Script): Promise<OpenAiServer> {
  const times = new Map<string, number>();
  return await startOpenAiServer((request) => {
    const { asked, results } = readRequest(request);
    const key = `${asked} ${results}`;
    const count = (times.get(key) ?? 0) + 1;
    times.set(key, count);
    return answer(script(asked, results, count));
  });
}

function readRequest({ body }: ReceivedRequest): { readonly asked: string; readonly results: number } {
  const at = body.messages.findLastIndex(({ role }) => role === "user");
  const asked = textOf(body.messages[at]?.["content"]);
  return { asked, results: body.messages.slice(at).filter(({ role }) => role === "tool").length };
}

/** With images it comes in parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? (content as readonly { readonly text?: string }[]) : [];
  return parts.map(({ text = "" }) => text).join("");
}

/** A home's config with it as the only model. */
export function configFor({ baseUrl }: OpenAiServer): object {
  const models = { scripted: { contextWindow: 1_000_000, maxOutputTokens: 100_000, supportsVision: true } };
  return {
    models: { default: "loop:scripted", providers: { loop: { baseUrl, local: true, models } } },
    budgets: { perRunTokens: 1_000_000 },
  };
}
