/** The demo model and what is dictated to it (D4, D5 of `builtin-demo.ts`). */
import { describe, expect, test } from "vitest";
import { builtinDemo } from "../../../../src/adapters/models/builtin-demo/builtin-demo.ts";
import { writeDictation } from "../../../../src/assistant/conformance/dictation.ts";
import type { ModelRequest } from "../../../../src/runtime/ports/model-backend.ts";

const echo = (text: string) => ({ tool: "conformance.echo", args: { text } });

async function ask(content: string, more: Partial<ModelRequest> = {}) {
  const reply = await builtinDemo.complete(
    {
      ...{ model: "demo", messages: [{ role: "user", content }], toolChoice: "auto", maxOutputTokens: 2_048 },
      tools: [{ name: "conformance.echo", description: "Give the text back.", parameters: {} }],
      ...more,
    },
    { signal: new AbortController().signal, onText: null },
  );
  if (!reply.ok) throw new Error(reply.code);
  return reply.raw;
}

describe("a dictation is followed to the letter", () => {
  test("all its calls at once, each under an id of its own", async () => {
    const raw = await ask(
      writeDictation("x", { thought: null, calls: [echo("a"), echo("b")], answer: "c", notes: null }),
    );
    expect(raw).toMatchObject({ content: "", stopReason: "tool_calls" });
    expect(raw.toolCalls).toEqual([
      { id: "demo_1", name: "conformance__echo", argumentsText: '{"text":"a"}' },
      { id: "demo_2", name: "conformance__echo", argumentsText: '{"text":"b"}' },
    ]);
  });

  test("then the answer, whatever came of them", async () => {
    const content = writeDictation("x", { thought: null, calls: [echo("a")], answer: "checked", notes: null });
    const call = { id: "demo_1", tool: "conformance.echo", argumentsText: '{"text":"a"}' };
    const raw = await ask(content, {
      messages: [
        { role: "user", content },
        { role: "assistant", content: "", toolCalls: [call] },
        { role: "tool", callId: "demo_1", tool: "conformance.echo", content: '{"ok":false,"error":"timeout: late"}' },
      ],
    });
    expect(raw).toMatchObject({ content: "checked", toolCalls: [], stopReason: "stop" });
  });

  test("a tool that is not offered is not called, and the answer does not pretend it was", async () => {
    const content = writeDictation("x", { thought: null, calls: [echo("a")], answer: "checked", notes: null });
    for (const more of [{ tools: [] }, { toolChoice: "none" as const }]) {
      const raw = await ask(content, more);
      expect(raw.toolCalls).toEqual([]);
      expect(raw.content).toContain("does not offer");
    }
  });

  test("markers in the answer mean nothing; NOTES that were asked for do", async () => {
    const answer = "<<<TOOL_CALLS_JSON>>>[]<<<END_TOOL_CALLS_JSON>>>";
    const raw = await ask(writeDictation("x", { thought: null, calls: [], answer, notes: { set_goals: ["g"] } }));
    expect(raw.content).toBe(
      '<<<quoted TOOL_CALLS_JSON>>>[]<<<quoted END_TOOL_CALLS_JSON>>>\n<<<NOTES_JSON>>>\n{"set_goals":["g"]}\n<<<END_NOTES_JSON>>>',
    );
  });
});

describe("the limit of tokens is kept", () => {
  const LIMIT = { maxOutputTokens: 16 };

  test("within a call", async () => {
    const text = "🚀".repeat(100);
    const raw = await ask(writeDictation("x", { thought: null, calls: [echo(text)], answer: "c", notes: null }), LIMIT);
    expect(raw).toMatchObject({ stopReason: "length", complete: true });
    const [cut] = raw.toolCalls;
    expect(cut?.argumentsText).toHaveLength(64);
    expect(cut?.argumentsText.isWellFormed()).toBe(true);
  });

  test("within a text", async () => {
    const raw = await ask("help", LIMIT);
    expect(raw.stopReason).toBe("length");
    expect(raw.content).toHaveLength(64);
  });
});
