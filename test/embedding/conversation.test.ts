/** AgentLoop and MemoryManager on a real home: each message is a run of its session, and what is compressed leaves the prompt. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { AgentLoop, MemoryManager, openSurety } from "../../src/boot/embedding/library.ts";
import type { AgentChunk, Message, Session, Surety } from "../../src/boot/embedding/surety-api.ts";
import { temporaryDirectory } from "../boot/temporary-home.ts";
import { verifies } from "../requirements.ts";

async function open(config: Readonly<Record<string, unknown>> = {}) {
  const home = join(await temporaryDirectory(), "home");
  const surety = await openSurety({ home, config });
  onTestFinished(() => surety.close());
  return { surety, workspace: join(home, "workspace"), loop: new AgentLoop(surety), memory: new MemoryManager(surety) };
}

const says = (content: string, role: Message["role"] = "user"): Message => ({ id: "m", role, content, timestamp: 0 });

async function all(chunks: AsyncIterable<AgentChunk>, onChunk: (chunk: AgentChunk) => void = () => {}) {
  const seen: AgentChunk[] = [];
  for await (const chunk of chunks) {
    onChunk(chunk);
    seen.push(chunk);
  }
  return seen;
}

async function now(surety: Surety, { id }: Session): Promise<Session> {
  const session = await surety.sessions.get(id);
  if (session === null) throw new Error("the session is gone");
  return session;
}

describe("AgentLoop", () => {
  verifies(
    "T-3.1",
    "a message is a run: its chunks in order, each with the state of the loop at that moment",
    async () => {
      const { surety, loop, workspace } = await open();
      await writeFile(join(workspace, "notes.txt"), "buy milk\n");
      const session = await surety.sessions.create();
      const states: unknown[] = [];
      const chunks = await all(loop.run(session, says("read notes.txt")), ({ type }) => {
        states.push([type, loop.getState().phase, loop.getState().iteration]);
      });
      expect(chunks).toMatchObject([
        { type: "tool_call", tool: "fs.read_text", args: { path: "notes.txt" } },
        { type: "tool_result", tool: "fs.read_text", result: { success: true } },
        { type: "text", content: expect.stringContaining("buy milk") },
        { type: "done" },
      ]);
      expect(states).toEqual([
        ["tool_call", "executing", 1],
        ["tool_result", "evaluating", 1],
        ["text", "done", 2],
        ["done", "done", 2],
      ]);
      const { totalTokensUsed, ...state } = loop.getState();
      expect(state).toEqual({
        ...{ phase: "done", iteration: 2, maxIterations: 10, goal: "read notes.txt" },
        ...{ pending: [], completed: [], totalCost: 0 },
      });
      expect(totalTokensUsed).toBeGreaterThan(0);
      const { messages, metadata } = await now(surety, session);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
      expect(metadata.messageCount).toBe(2);
    },
  );

  test("a refusal is an error chunk and done, and begins no run", async () => {
    const { surety, loop } = await open();
    const session = await surety.sessions.create();
    const refused = [
      await all(loop.run(session, says("hello", "assistant"))),
      await all(loop.run(session, says(" "))),
      await all(loop.run({ ...session, id: "session_none" }, says("hello"))),
    ];
    expect(refused.map(([error]) => error)).toEqual([
      { type: "error", error: expect.stringContaining("invalid.request: a run answers a message of the user") },
      { type: "error", error: "invalid.request: message is required" },
      { type: "error", error: expect.stringContaining("not_found: there is no such session") },
    ]);
    expect(refused.map((chunks) => chunks.at(-1))).toEqual(Array(3).fill({ type: "done" }));
    expect([loop.getState().phase, (await now(surety, session)).messages]).toEqual(["done", []]);
  });
});

describe("MemoryManager", () => {
  verifies("T-3c", "what was said is condensed and leaves the context; the stats say how far", async () => {
    const { surety, loop, memory } = await open({ agents: { main: { maxTurns: 4 } } });
    const session = await surety.sessions.create();
    expect(await memory.compress(session)).toMatchObject({ content: "", messagesCompressed: 0, tokensUsed: 0 });
    expect(memory.getStats(session)).toMatchObject({ totalSessionMessages: 0, compressionRatio: 1 });
    for (const word of ["apples", "pears", "plums"]) await all(loop.run(session, says(`hello, I like ${word}`)));

    const before = await now(surety, session);
    const whole = memory.buildContext(before);
    expect(whole.memorySummary).toBe("");
    expect(whole.recentMessages.map(({ content }) => content)).toEqual(before.messages.map(({ content }) => content));

    const summary = await memory.compress(before);
    expect(summary).toMatchObject({ messagesCompressed: 4, tokensUsed: expect.any(Number) });
    const after = await now(surety, session);
    const window = memory.buildContext(after);
    expect([window.memorySummary, window.systemPrompt]).toEqual([summary.content, whole.systemPrompt]);
    expect(window.recentMessages.map(({ content }) => content)).toEqual([
      "hello, I like plums",
      before.messages.at(-1)?.content,
    ]);
    expect(memory.getStats(after)).toEqual({
      contextWindowTokens: window.totalTokens,
      memorySummaryTokens: summary.tokensUsed,
      recentMessagesCount: 2,
      totalSessionMessages: 6,
      compressionRatio: expect.any(Number),
    });
    await expect(memory.compress({ ...session, id: "session_none" })).rejects.toMatchObject({ code: "not_found" });
  });

  verifies("T-3c", "the context has what the next run is sent, within its budgets", async () => {
    const { surety, loop, memory, workspace } = await open();
    await writeFile(join(workspace, "long.txt"), `${"a line of a long file\n".repeat(400)}`);
    const session = await surety.sessions.create();
    await all(loop.run(session, says("read long.txt")));
    for (let at = 0; at < 14; at += 1) await all(loop.run(session, says(`hello ${at} ${"and more ".repeat(60)}`)));
    const shown = await now(surety, session);
    const { systemPrompt, recentMessages, toolDescriptions, totalTokens } = memory.buildContext(shown);
    expect(totalTokens).toBeLessThanOrEqual(6000);
    // About four characters a token, as descriptions are fitted; the client's own counter counts from above.
    expect(toolDescriptions.length / 4).toBeLessThanOrEqual(1500);
    expect(systemPrompt).toContain("NOTES_JSON");
    const asked = recentMessages.filter(({ role }) => role === "user");
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.length).toBeLessThanOrEqual(10);
    expect(asked.at(-1)?.content).toContain("hello 13");
    expect(JSON.parse(toolDescriptions)).toContainEqual(expect.objectContaining({ name: "fs.read_text" }));
  });

  verifies("T-3c", "a tool's output is cut to its tokens, in any script, with a marker", async () => {
    const { surety, memory } = await open();
    const { countTokens } = surety.client();
    for (const output of ["word ".repeat(3000), "漢字".repeat(2000), "😀".repeat(999), '{"a":[1,2,3]},'.repeat(500)]) {
      const cut = memory.truncateToolOutput(output, 500);
      expect(countTokens(cut)).toBeLessThanOrEqual(500);
      expect(countTokens(cut)).toBeGreaterThan(480);
      expect(cut.isWellFormed()).toBe(true);
      expect(cut.endsWith("\n[… truncated]")).toBe(true);
      expect(output.startsWith(cut.slice(0, -"\n[… truncated]".length))).toBe(true);
    }
    expect(memory.truncateToolOutput("short", 500)).toBe("short");
    expect(memory.truncateToolOutput("x".repeat(99), 0)).toBe("");
    expect(() => memory.truncateToolOutput("x", Number.NaN)).toThrow(RangeError);
  });
});
