/** Whatever a prompt holds, compaction tears no call from its result, and keeps what must stay. */
import fc from "fast-check";
import { expect } from "vitest";
import { countChars } from "../../../src/kernel/vocabulary/cut-text.ts";
import type { PromptMessage } from "../../../src/runtime/ports/model-backend.ts";
import { compactMessages } from "../../../src/runtime/run/compact-prompt.ts";
import { formatToolResult, SHOWN_AGAIN } from "../../../src/runtime/tools/format-tool-result.ts";
import { verifies } from "../../requirements.ts";

const text = fc.oneof(
  fc.string({ maxLength: 30, unit: "grapheme" }),
  fc.nat(3000).map((length) => "語".repeat(length)),
);
const step = fc.array(fc.record({ ok: fc.boolean(), output: text, error: text }), { maxLength: 4 });
const history = fc.record({ turns: fc.array(step, { maxLength: 5 }), steps: fc.array(step, { maxLength: 6 }) });

let ids = 0;

function messagesOf(results: readonly { ok: boolean; output: string; error: string }[]): readonly PromptMessage[] {
  const calls = results.map(() => ({ id: `call_${++ids}`, tool: "look.at", argumentsText: "{}" }));
  return [
    { role: "assistant", content: "", toolCalls: calls },
    ...results.map(({ ok, output, error }, at): PromptMessage => {
      const callId = calls[at]?.id ?? "";
      const result = { ok, output: ok ? output : null, error: ok ? null : `internal.error: ${error}` };
      return { role: "tool", callId, tool: "look.at", content: formatToolResult({ callId, tool: "look.at" }, result) };
    }),
  ];
}

const callsIn = (messages: readonly PromptMessage[]): readonly string[] =>
  messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : []));
const resultsIn = (messages: readonly PromptMessage[]): readonly string[] =>
  messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []));

verifies(
  "X-8",
  "no orphaned call or result: calls and results stay together, and the last step, the message and the system prompts whole",
  () => {
    fc.assert(
      fc.property(history, ({ turns, steps }) => {
        const system: PromptMessage = { role: "system", content: "Be kind." };
        const message: PromptMessage = { role: "user", content: "now" };
        const earlier = turns.flatMap((each): readonly PromptMessage[] => [
          { role: "user", content: "then" },
          ...messagesOf(each),
        ]);
        const own = steps.flatMap(messagesOf);
        const compacted = compactMessages([system, ...earlier, message], own);
        expect(compacted.opening).toEqual([system, message]);
        expect(callsIn(compacted.own)).toEqual(callsIn(own));
        expect(resultsIn(compacted.own)).toEqual(callsIn(own));
        const last = own.findLastIndex(({ role }) => role === "assistant");
        expect(compacted.own.slice(last)).toEqual(own.slice(last));
        for (const { role, content } of compacted.own.slice(0, Math.max(0, last))) {
          if (role !== "tool") continue;
          const { output, error } = JSON.parse(content) as { output: string | null; error: string | null };
          expect(countChars(output ?? "")).toBeLessThanOrEqual(SHOWN_AGAIN.outputChars);
          expect(countChars(error ?? "")).toBeLessThanOrEqual(SHOWN_AGAIN.errorChars);
        }
        // Once more changes nothing.
        expect(compactMessages(compacted.opening, compacted.own).dropped).toEqual([]);
      }),
    );
  },
);
