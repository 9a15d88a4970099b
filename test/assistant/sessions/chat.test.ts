/** Conversations through the real runtime and store: routing, commands, what a session remembers. */
import { describe, expect, test } from "vitest";
import { LATEST } from "../../../src/assistant/context/session-context.ts";
import type { Received } from "../../../src/assistant/sessions/chat.ts";
import { DEFAULT_CONFIG } from "../../../src/boot/config/default-config.ts";
import { asSessionId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { notedState, readCheckpoint } from "../../../src/runtime/checkpoint/session-checkpoint.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type Trial } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";
import { IDLE_MS, OPERATOR, openChat, said } from "./open-chat.ts";

const store = storeOfFile();
let senders = 0;
const aSender = (): string => `sender_${++senders}`;

function runIn(received: Received): RunId {
  if (!received.ok || received.kind !== "run") throw new Error(JSON.stringify(received));
  return received.runId;
}

function responseIn(received: Received): string {
  if (!received.ok || received.kind !== "answered") throw new Error(JSON.stringify(received));
  return received.response;
}

function openTalk(model: Parameters<typeof openTrial>[0]["model"], options?: Parameters<typeof openChat>[1]) {
  const trial = openTrial({ store: store(), world: outsideWorld(), model });
  const opened = openChat(trial, options);
  const senderId = aSender();
  const say = (text: string, also = {}) => opened.chat.receive(said(text, { senderId, ...also }), OPERATOR);
  return { trial, ...opened, say, ask: async (text: string) => trial.ended(runIn(await say(text))) };
}

const NOTES = (patch: object): string => `Noted.\n<<<NOTES_JSON>>>\n${JSON.stringify(patch)}\n<<<END_NOTES_JSON>>>`;

function lastPrompt(model: ReturnType<typeof scriptedModel>): string {
  return (
    model.requests
      .at(-1)
      ?.request.messages.map(({ content }) => content)
      .join("\n---\n") ?? ""
  );
}

verifies(
  "O-6.1/tool",
  "a second message knows what the tools found: calls come back as role=tool, in short",
  async () => {
    const model = scriptedModel((request) => {
      const { content } = request.messages.at(-1) ?? { content: "" };
      return content === "look"
        ? calls([{ id: "c1", tool: "look.at", args: { thing: `${"long ".repeat(400)}it` } }])
        : says("I see");
    });
    const { trial, ask } = openTalk(model);
    await ask("look");
    await ask("what was it?");
    const messages = model.requests.at(-1)?.request.messages.filter(({ role }) => role !== "system") ?? [];
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(messages[2]).toMatchObject({ role: "tool", tool: "look.at", callId: "c1" });
    const output = `look.at ${"long ".repeat(400)}`.slice(0, 999);
    expect(messages[2]?.content).toBe(`tool look.at result (c1)\nsummary: look.at done\noutput: ${output}…`);
    await trial.stop();
  },
);

verifies(
  ["S-1.2/revision", "S-2.1/applied"],
  "NOTES change the checkpoint, one revision a write, and reach the next prompt",
  async () => {
    const model = scriptedModel((request) => {
      const { content } = request.messages.at(-1) ?? { content: "" };
      return says(content === "note" ? NOTES({ set_goals: ["ship it"], add_decisions: ["use SQLite"] }) : "ok");
    });
    const { trial, ask, chat, sessions } = openTalk(model);
    const { sessionId } = await ask("note");
    expect(notedState(await readCheckpoint(trial.store, sessionId))).toMatchObject({
      goals: ["ship it"],
      decisions: ["use SQLite"],
    });
    await ask("go on");
    expect(lastPrompt(model)).toMatch(/Goals:\n- ship it\nDecisions:\n- use SQLite/);
    expect((await readCheckpoint(trial.store, sessionId)).revision).toBe(1);
    await ask("note");
    // The same notes change nothing.
    expect((await readCheckpoint(trial.store, sessionId)).revision).toBe(1);
    const session = await sessions.find(sessionId);
    expect(session === null ? null : (await sessions.show(session, LATEST, 10)).checkpoint.state.goals).toEqual([
      "ship it",
    ]);
    expect(chat).toBeDefined();
    await trial.stop();
  },
);

verifies(
  ["S-1.2/stale", "S-1.2/atomic"],
  "a stale revision is refused, and the same write repeated succeeds",
  async () => {
    const { trial, ask } = openTalk(scriptedModel(() => says(NOTES({ set_goals: ["one"] }))));
    const { sessionId } = await ask("note");
    const current = await readCheckpoint(trial.store, sessionId);
    const write = (checkpoint: typeof current) =>
      trial.store.commit([{ type: "write-checkpoint", sessionId, checkpoint }], "barrier");
    await write(current);
    await expect(write({ ...current, state: "{}" })).rejects.toMatchObject({ code: "store.conflict" });
    await expect(write({ ...current, revision: current.revision + 2 })).rejects.toMatchObject({
      code: "store.conflict",
    });
    expect(await readCheckpoint(trial.store, sessionId)).toEqual(current);
    const next = (goal: string) => ({ ...current, revision: current.revision + 1, state: JSON.stringify({ goal }) });
    // Nothing of a transaction is written of which one part is refused.
    const writes = [next("half"), { ...next("stale"), revision: current.revision }].map(
      (checkpoint) => ({ type: "write-checkpoint", sessionId, checkpoint }) as const,
    );
    await expect(trial.store.commit(writes, "barrier")).rejects.toMatchObject({ code: "store.conflict" });
    expect(await readCheckpoint(trial.store, sessionId)).toEqual(current);
    // Of writers that read the same revision, one writes.
    const both = await Promise.allSettled([write(next("one")), write(next("two"))]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(await readCheckpoint(trial.store, sessionId)).toEqual(next("one"));
    await trial.stop();
  },
);

describe("commands", () => {
  verifies("O-5.6/commands", "/new begins another conversation, /resume goes back; neither asks a model", async () => {
    const model = scriptedModel(() => says("hello"));
    const { trial, say, ask } = openTalk(model);
    const first = await ask("hi");
    expect(await say("/new trip")).toMatchObject({ kind: "answered" });
    const second = await ask("hi again");
    expect(second.sessionId).not.toBe(first.sessionId);
    expect(lastPrompt(model)).not.toContain("hello");
    expect(responseIn(await say("/resume"))).toMatch(/1\. trip.*this one.*\n2\. hi,/);
    await say("/resume 2");
    expect((await ask("back")).sessionId).toBe(first.sessionId);
    expect(model.requests).toHaveLength(3);
    await trial.stop();
  });

  test("/resume reaches no one else's conversation", async () => {
    const { trial, ask } = openTalk(scriptedModel(() => says("secret")));
    const { sessionId } = await ask("mine");
    const other = openTalk(scriptedModel(() => says("x")));
    await other.ask("hello");
    expect(responseIn(await other.say(`/resume ${sessionId}`))).toMatch(/no such conversation/);
    await trial.stop();
    await other.trial.stop();
  });

  test("/stop ends the run at work and the one behind it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const model = scriptedModel(async (_request, signal) => {
      resolve();
      await new Promise((over) => signal.addEventListener("abort", over));
      return says("late");
    });
    const { trial, say } = openTalk(model);
    const first = runIn(await say("one"));
    const second = runIn(await say("two"));
    await promise;
    expect(responseIn(await say("/status"))).toMatch(/2 run\(s\) not ended/);
    expect(responseIn(await say("/stop"))).toBe("Stopping 2 run(s).");
    expect((await trial.ended(first)).outcome).toBe("INTERRUPTED");
    expect((await trial.store.findRun(second))?.outcome ?? (await trial.ended(second)).outcome).toBe("INTERRUPTED");
    expect(model.requests).toHaveLength(1);
    await trial.stop();
  });

  test("/model, /think and /verbose are kept with the session, and bad values are refused", async () => {
    const { trial, say, ask, sessions } = openTalk(scriptedModel(() => says("ok")));
    const { sessionId } = await ask("hi");
    expect(responseIn(await say("/model nope:x"))).toBe("There is no model nope:x");
    await say("/model scripted:model");
    await say("/think high");
    await say("/verbose on");
    expect(responseIn(await say("/think very"))).toMatch(/off, low, medium, high/);
    const session = await sessions.find(sessionId);
    expect(session?.settings).toEqual({ model: "scripted:model", thinkingLevel: "high", verboseLevel: true });
    await say("/think default");
    expect((await sessions.find(sessionId))?.settings).toEqual({ model: "scripted:model", verboseLevel: true });
    await trial.stop();
  });

  test("/approve allows the call that waits, /deny denies it", async () => {
    const model = scriptedModel(inTurns(calls([{ id: "c1", tool: "door.open", args: { thing: "it" } }]), says("done")));
    for (const [command, outcome] of [
      ["/approve", "COMPLETED_WITH_TOOLS"],
      ["/deny", "COMPLETED_CHAT_ONLY"],
    ] as const) {
      const { trial, say } = openTalk(model);
      const runId = runIn(await say("open"));
      await trial.nextCard();
      expect(responseIn(await say("/status"))).toMatch(/Waiting for you: door\.open/);
      expect(responseIn(await say(command))).toMatch(/door\.open/);
      expect((await trial.ended(runId)).outcome).toBe(outcome);
      await trial.stop();
    }
  });
});

verifies("O-5.7/sender", "a sender who writes too fast is told when to retry; others are not held up", async () => {
  const { trial, say, chat } = openTalk(
    scriptedModel(() => says("ok")),
    { perMinute: 3 },
  );
  for (const text of ["/help", "/help", "/help"]) await say(text);
  const refused = await say("/help");
  expect(refused).toMatchObject({ ok: false, code: "chat.rate_limited", retryAfterSeconds: 20 });
  expect(refused).toMatchObject({ message: "chat sender is rate limited; retry in 20s" });
  expect((await chat.receive(said("/help", { senderId: aSender() }), OPERATOR)).ok).toBe(true);
  await trial.stop();
});

verifies("X-13/once", "a message that comes twice under the channel's id runs once", async () => {
  const model = scriptedModel(() => says("ok"));
  const { trial, say } = openTalk(model);
  const messageId = aSender();
  const twins = await Promise.all([say("hi", { messageId }), say("hi", { messageId })]);
  const again = await say("hi", { messageId });
  const ids = [...twins, again].map(runIn);
  expect(new Set(ids).size).toBe(1);
  await trial.ended(ids[0] as RunId);
  expect(model.requests).toHaveLength(1);
  await trial.stop();
});

verifies(
  ["T-2.1/states", "T-2.1/default"],
  "a session is created, active, idle after its time, and active again with a message",
  async () => {
    expect(DEFAULT_CONFIG.sessions.idleMs).toBe(30 * 60_000);
    let nowMs = Date.parse("2026-11-18T12:00:00Z");
    const { trial, say, ask, sessions } = openTalk(
      scriptedModel(() => says("ok")),
      { nowMs: () => nowMs },
    );
    const answer = await say("/new");
    const id = answer.ok && answer.kind === "answered" ? asSessionId(answer.sessionId ?? "") : asSessionId("");
    const stateOf = async (target: Trial) => {
      const session = await target.store.findSession(id);
      return session === null ? null : sessions.row(session).state;
    };
    expect(await stateOf(trial)).toBe("created");
    await ask("hi");
    const { activeAt = "" } = (await sessions.find(id)) ?? {};
    nowMs = Date.parse(activeAt) + IDLE_MS - 1;
    expect(await stateOf(trial)).toBe("active");
    nowMs += 1;
    expect(await stateOf(trial)).toBe("idle");
    await ask("hello again");
    nowMs = Date.parse((await sessions.find(id))?.activeAt ?? "");
    expect(await stateOf(trial)).toBe("active");
    await trial.stop();
  },
);
