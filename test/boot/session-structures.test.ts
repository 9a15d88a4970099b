/** What `/api/sessions/:id` shows, against the seeds' own structures; and the limits of sessions that a config sets. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TSchema, Type } from "typebox";
import { Compile } from "typebox/compile";
import { expect, onTestFinished } from "vitest";
import { getSummaryPrompt } from "../../src/prompts/summary-prompt.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openLiveGateway } from "./live-gateway.ts";

const Text = Type.String();
const Texts = Type.Array(Text);
const optional = Type.Optional;

// Talon §2 and §4. ToolCall is left open there.
const ToolResult = Type.Object({ success: Type.Boolean(), output: Text, metadata: optional(Type.Object({})) });
const Message = Type.Object({
  id: Text,
  role: Type.Enum(["user", "assistant", "system", "tool"]),
  content: Text,
  toolCalls: optional(Type.Array(Type.Object({}))),
  toolResults: optional(Type.Array(ToolResult)),
  timestamp: Type.Number(),
  channel: optional(Text),
});
const Session = Type.Object({
  id: Text,
  senderId: Text,
  channel: Text,
  state: Type.Enum(["created", "active", "idle"]),
  messages: Type.Array(Message),
  metadata: Type.Object({
    createdAt: Type.Number(),
    lastActiveAt: Type.Number(),
    messageCount: Type.Number(),
    model: Text,
  }),
  config: Type.Object({
    model: optional(Text),
    thinkingLevel: optional(Type.Enum(["off", "low", "medium", "high"])),
    verboseLevel: optional(Type.Boolean()),
  }),
});

// Spectator §1: all of it, and no other field of the state.
const State = Type.Object(
  {
    goals: Texts,
    open_loops: Texts,
    decisions: Texts,
    constraints: Texts,
    episode_summary: Text,
    memory_tags: Texts,
    memory_refs: Texts,
    capabilities_granted: Texts,
    capabilities_pending: Texts,
  },
  { additionalProperties: false },
);
const ChatMessage = Type.Object({ role: Type.Enum(["system", "user", "assistant", "tool"]), content: Text });
const Checkpoint = Type.Object({
  session_id: Text,
  revision: Type.Integer(),
  updated_ts: Type.Number(),
  state: State,
  recent_messages: Type.Array(ChatMessage),
  trace_tail: optional(Texts),
});

const problems = (schema: TSchema, value: unknown): readonly unknown[] => [...Compile(schema).Errors(value)];

const SUMMARY = "They counted to five in English words, and nothing else is open between them.";
const FIRST = {
  set_goals: ["ship it"],
  add_open_loops: ["ask Bert"],
  add_decisions: ["use SQLite"],
  add_constraints: ["no cloud"],
  set_episode_summary: "It began.",
  add_memory_tags: ["work"],
  actions: ["request_permission:net:example.org", "request_permission:net:example.com"],
};
const notes = (patch: object): string => `Noted.\n<<<NOTES_JSON>>>\n${JSON.stringify(patch)}\n<<<END_NOTES_JSON>>>`;

async function openConversation(config: object = {}) {
  const model = await startOpenAiServer(({ body }) => {
    const last = body.messages.at(-1);
    if (last?.role === "tool") return answer({ text: "It is empty." });
    if (last?.["content"] === "look") return answer({ calls: [{ name: "fs.list_dir", arguments: { path: "." } }] });
    if (last?.["content"] === "note") return answer({ text: notes(FIRST) });
    if (body.messages[0]?.["content"] === getSummaryPrompt().content) return answer({ text: SUMMARY });
    return answer({ text: `heard ${String(last?.["content"])}` });
  });
  onTestFinished(() => model.close());
  const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024 } };
  const gateway = await openLiveGateway({
    config: JSON.stringify({
      models: { default: "local:m", providers: { local: { baseUrl: model.baseUrl, local: true, models } } },
      ...config,
    }),
  });
  /** The session, once the message is answered. */
  const say = async (path: string, body: object) => {
    const { status, json } = await gateway.ask("POST", path, body);
    if (status === 202) await gateway.ended(json.id);
    else expect(status).toBe(200);
    return (await gateway.ask("GET", `/api/sessions/${json.session_id}`)).json;
  };
  return { ...gateway, model, say, talk: (message: string) => say("/v1/chat/messages", { user_id: "anna", message }) };
}

verifies(
  ["T-2.2", "S-1.1/fields", "S-1.1/pending", "S-1.2/fields", "T-1.2/sessions", "T-1.2/send"],
  "a session, its messages and its checkpoint are the seeds' own structures, field by field",
  async () => {
    const { ask, say, talk } = await openConversation();
    const { id } = await talk("look");
    await say(`/api/sessions/${id}/send`, { text: "/think high" });
    await say(`/api/sessions/${id}/send`, { text: "/verbose on" });
    await say(`/api/sessions/${id}/send`, { text: "/model local:m" });
    const session = await say(`/api/sessions/${id}/send`, { text: "note" });
    expect(problems(Session, session)).toEqual([]);
    expect(session).toMatchObject({
      ...{ id, senderId: "anna", channel: "http", state: "active" },
      metadata: { messageCount: 4, model: "local:m" },
      config: { model: "local:m", thinkingLevel: "high", verboseLevel: true },
    });
    const { createdAt, lastActiveAt } = session.metadata;
    expect(new Date(createdAt).getUTCFullYear()).toBeGreaterThan(2025);
    expect(lastActiveAt).toBeGreaterThan(createdAt);
    const [asked, called, result, answered, ...rest] = session.messages;
    expect(asked).toMatchObject({ role: "user", content: "look", channel: "http" });
    expect(called).toMatchObject({ role: "assistant", toolCalls: [{ tool: "fs.list_dir", args: '{"path":"."}' }] });
    expect(result).toMatchObject({ role: "tool", toolResults: [{ tool: "fs.list_dir", success: true }] });
    expect(result.toolResults[0].id).toBe(called.toolCalls[0].id);
    expect(result.toolResults[0].output).toContain("tool fs.list_dir result");
    expect(answered).toMatchObject({ role: "assistant", content: "It is empty." });
    expect(rest.map(({ content }: { content: string }) => content.trim())).toEqual(["note", "Noted."]);
    expect(new Set(session.messages.map((each: { id: string }) => each.id)).size).toBe(session.messages.length);
    expect((await ask("GET", "/api/sessions")).json).toMatchObject({ sessions: [{ id, state: "active" }], total: 1 });

    const { checkpoint } = session;
    expect(problems(Checkpoint, checkpoint)).toEqual([]);
    expect(checkpoint).toMatchObject({ session_id: id, revision: 1 });
    expect(Math.abs(checkpoint.updated_ts * 1000 - lastActiveAt)).toBeLessThan(60_000);
    expect(checkpoint.state).toEqual({
      ...{ goals: ["ship it"], open_loops: ["ask Bert"], decisions: ["use SQLite"], constraints: ["no cloud"] },
      ...{ episode_summary: "It began.", memory_tags: ["work"], memory_refs: [] },
      ...{ capabilities_granted: [], capabilities_pending: ["net:example.com", "net:example.org"] },
    });
    const texts = session.messages.map(({ role, content }: { role: string; content: string }) => ({ role, content }));
    expect(checkpoint.recent_messages).toEqual(texts);

    const granted = { session_id: id, grant: "net:example.org" };
    expect((await ask("POST", "/api/capabilities", granted)).status).toBe(200);
    const later = await talk("note");
    expect(later.checkpoint.state).toMatchObject({
      capabilities_granted: ["net:example.org"],
      capabilities_pending: ["net:example.com"],
    });
  },
);

verifies(
  ["P-5.3/maxTurns", "P-5.3/maxBytes", "S-1.2/bounded"],
  "an agent's maxTurns bounds what is sent and what a checkpoint holds, and the config's maxBytes each session file",
  async () => {
    const { home, model, ask, talk } = await openConversation({
      agents: { main: { maxTurns: 2 } },
      sessions: { maxBytes: 1024 },
    });
    for (const text of ["one", "two", "three", "four"]) await talk(text);
    const { id } = await talk("five");
    await expect
      .poll(async () => (await ask("GET", `/api/sessions/${id}`)).json.checkpoint.summary, { timeout: 10_000 })
      .toMatchObject({ content: SUMMARY });
    const { messages, checkpoint } = (await ask("GET", `/api/sessions/${id}`)).json;
    expect(messages).toHaveLength(10);
    expect(checkpoint.recent_messages.length).toBeLessThanOrEqual(4);
    expect(checkpoint.recent_messages.at(-1)).toEqual({ role: "assistant", content: "heard five" });
    const sent = model.requests.filter(({ body }) => body.messages.at(-1)?.["content"] === "five").at(-1);
    const asked = sent?.body.messages.filter(({ role }) => role === "user").map((each) => each["content"]) ?? [];
    expect(asked.at(-1)).toBe("five");
    expect(asked.length).toBeLessThanOrEqual(3);
    expect(asked).toContain("four");
    const directory = join(home.agentsDirectory, "main", "sessions");
    await expect
      .poll(async () => (await readdir(directory)).filter((name) => name.includes(":anna")).length, { timeout: 10_000 })
      .toBeGreaterThan(1);
    for (const name of await readdir(directory)) {
      expect((await readFile(join(directory, name))).length).toBeLessThanOrEqual(1024);
    }
  },
);
