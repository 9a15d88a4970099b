/** Imported conversations through the real runtime and store: they are shown and continued, and are no runs. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { LATEST } from "../../../src/assistant/context/session-context.ts";
import { type ForeignConversation, SessionImport } from "../../../src/assistant/sessions/import-session.ts";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { says, scriptedModel } from "../../runtime/trial/scripted-model.ts";
import { OPERATOR, openChat, said } from "./open-chat.ts";

const store = storeOfFile();
const AT = Date.parse("2026-01-02T03:04:05.000Z");
let conversations = 0;

function conversation(also: Partial<ForeignConversation> = {}): ForeignConversation {
  conversations += 1;
  return {
    source: `openclaw:main/${conversations}`,
    key: { agentId: "main", channel: "http", kind: "dm", peer: `peer_${conversations}` },
    title: "Plants",
    summary: "",
    turns: [
      { askedAt: AT, answeredAt: AT + 1, asked: "Hello", calls: [], answered: "Hi" },
      {
        ...{ askedAt: AT + 2, answeredAt: AT + 3, asked: "Which plants need water?", answered: "The ficus" },
        calls: [{ tool: "read", args: { path: "plants.md" }, ok: true, output: "ficus: every Monday" }],
      },
    ],
    ...also,
  };
}

function openImport() {
  const model = scriptedModel(() => says("On Monday"));
  const trial = openTrial({ store: store(), world: outsideWorld(), model });
  const compiled = compileRedactor({ secrets: [], emails: false, phones: false });
  if (!compiled.ok) throw new Error(compiled.reason);
  const { redactor } = compiled;
  const clock = { nowMs: () => AT + 1_000_000 };
  const imports = new SessionImport({ store: trial.store, clock, random: randomBytes, redactor, onImported: () => {} });
  return { model, trial, imports, ...openChat(trial) };
}

test("the next message continues it: its turns are sent in order, and taint the run", async () => {
  const { model, trial, imports, chat, sessions } = openImport();
  const foreign = conversation({ summary: "Ada owns a ficus." });
  const { sessionId } = await imports.import(foreign);
  const received = await chat.receive(said("When?", { senderId: foreign.key.peer }), OPERATOR);
  expect(received).toMatchObject({ ok: true, kind: "run", sessionId });
  if (!received.ok || received.kind !== "run") throw new Error("not a run");
  const run = await trial.ended(received.runId);
  const { messages } = model.requests[0]?.request ?? { messages: [] };
  const talk = messages.filter(({ role }) => role !== "system");
  expect(talk.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "tool", "assistant", "user"]);
  expect(talk.map(({ content }) => content)).toEqual([
    ...["Hello", "Hi", "Which plants need water?", ""],
    "tool read result (imported_2_1)\noutput: ficus: every Monday",
    ...["The ficus", "When?"],
  ]);
  expect(messages.map(({ content }) => content).join("\n")).toContain("Ada owns a ficus.");
  expect(run.ended?.labels).toEqual({ integrity: "untrusted", confidentiality: "private" });
  const session = await sessions.find(sessionId);
  const shown = session === null ? null : await sessions.show(session, LATEST, 100);
  expect(shown).toMatchObject({ title: "Plants", metadata: { messageCount: 6, createdAt: AT } });
  expect(shown?.messages.map(({ role, content, runId }) => [role, content, runId === undefined])).toEqual([
    ["user", "Hello", true],
    ["assistant", "Hi", true],
    ["user", "Which plants need water?", true],
    ["assistant", "", true],
    ["tool", expect.stringContaining("every Monday"), true],
    ["assistant", "The ficus", true],
    ["user", "When?", false],
    ["assistant", "On Monday", false],
  ]);
  await trial.stop();
});

test("before it is continued it is idle, not new, and has no runs", async () => {
  const { trial, imports, sessions } = openImport();
  const { sessionId } = await imports.import(conversation());
  const session = await sessions.find(sessionId);
  expect(session).toMatchObject({ runs: 0, importedMessages: 4, activeAt: new Date(AT + 3).toISOString() });
  if (session === null) throw new Error("no session");
  expect(sessions.row(session)).toMatchObject({ state: "idle", metadata: { messageCount: 4 } });
  // A message without an answer yet.
  const asked = sessions.row({ ...session, runs: 2, openRuns: 1 });
  expect(asked.metadata.messageCount).toBe(7);
  await trial.stop();
});

test("a conversation is taken over once, and a key that leads to a session here keeps doing so", async () => {
  const { trial, imports, chat, sessions } = openImport();
  const foreign = conversation();
  const received = await chat.receive(said("I was here first", { senderId: foreign.key.peer }), OPERATOR);
  if (!received.ok || received.kind !== "run") throw new Error("not a run");
  await trial.ended(received.runId);
  const imported = await imports.import(foreign);
  expect(imported.isNew).toBe(true);
  expect(await imports.import(foreign)).toEqual({ isNew: false, sessionId: imported.sessionId });
  const session = await sessions.find(imported.sessionId);
  expect((await sessions.findByKey(session?.key ?? ""))?.sessionId).toBe(received.sessionId);
  await trial.stop();
});

test("foreign ids, names and texts cannot pass for ours or break what is stored", async () => {
  const { trial, imports, sessions } = openImport();
  const asked = `lone \ud800 and \u0000, ${"x".repeat(200_000)}`;
  const calls = [{ tool: "../../tool name", args: { a: "\udfff" }, ok: false, output: "" }];
  const { sessionId } = await imports.import(
    conversation({ turns: [{ askedAt: AT, answeredAt: AT, asked, calls, answered: "" }] }),
  );
  const session = await sessions.find(sessionId);
  const [user, called, result, answer] = session === null ? [] : (await sessions.show(session, LATEST, 100)).messages;
  expect(user?.content.isWellFormed()).toBe(true);
  expect(user?.content.length).toBeLessThanOrEqual(100_000);
  expect(called?.toolCalls).toMatchObject([{ id: "imported_1_1", tool: ".._.._tool_name" }]);
  expect(result).toMatchObject({ role: "tool", toolResults: [{ success: false }] });
  expect(answer?.content).toBe("(no answer)");
  await trial.stop();
});
