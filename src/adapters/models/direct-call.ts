/**
 * `builtin:call`: proposes the tool calls that its message states, one a line, then stops. With it a program's own call is an
 * ordinary run: planned, decided, approved and journaled like a call that a model proposes (T-4.1).
 *
 * The call is in the message, so any process that resumes the run proposes the same call. Texts count no tokens, because no
 * model reads them.
 */
import { encodeToolName } from "../../kernel/protocol/tool-names.ts";
import type { ConfiguredModel, ModelBackend } from "../../runtime/ports/model-backend.ts";
import { PROFILES } from "./profile.ts";
import { fault } from "./provider-fault.ts";

const PREFIX = "Direct call: ";
const CALL = /^Direct call: (\S+) (\{.*\})$/gm;
const READY = "built in: no network, no key";

/** One line of a message. */
export function directCallMessage(tool: string, args: Readonly<Record<string, unknown>>): string {
  // In JSON, `<` occurs within strings only. Escaped, it cannot be part of a marker, which a prompt would quote.
  return `${PREFIX}${tool} ${JSON.stringify(args).replaceAll("<", "\\u003c")}`;
}

const backend: ModelBackend = {
  check: () => Promise.resolve({ responsive: true, detail: READY }),
  inspect: () => Promise.resolve({ ok: true, detail: READY }),
  complete({ messages }, { signal }) {
    if (signal.aborted) return Promise.resolve(fault("provider.cancelled"));
    const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
    const calls = [...asked.matchAll(CALL)].map(([, tool = "", argumentsText = "{}"], index) => {
      return { id: `call_${index + 1}`, name: encodeToolName(tool), argumentsText };
    });
    const isProposed = calls.length > 0 && !messages.some(({ role }) => role === "tool");
    const toolCalls = isProposed ? calls : [];
    const content = isProposed ? "" : calls.length === 0 ? `This model answers only "${PREFIX}TOOL {…}".` : "Done.";
    const raw = { content, toolCalls, stopReason: isProposed ? "tool_calls" : "stop", model: "call", complete: true };
    return Promise.resolve({ ok: true, raw, usage: null, stream: { chunks: 1, firstMs: 0, lastMs: 0 } });
  },
};

const { rewrite: _, ...profile } = PROFILES["native-tools"];

export const DIRECT_CALL_MODEL: ConfiguredModel = {
  ref: "builtin:call",
  provider: "builtin",
  model: "call",
  backend,
  profile,
  tokens: { prepare: null, count: () => 0 },
  contextWindow: 1_000_000,
  maxOutputTokens: 256,
  price: null,
  isFree: true,
};
