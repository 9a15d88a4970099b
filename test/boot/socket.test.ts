/** The WebSocket, on a home of its own: conversations, approvals, and what a client may not do. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { WsMessageSchema } from "../../src/kernel/journal/views/websocket-messages.ts";
import { answer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openSocketStage, textOf } from "./socket-stage.ts";

const isMessage = Compile(WsMessageSchema);
const WRITE = { name: "fs.write_text", arguments: { path: "a.txt", text: "hello" } };

describe("a client written from the seed", () => {
  verifies(
    "T-1.1",
    "holds a conversation: chunks that are the answer, and an end with outcome and digest",
    async () => {
      const stage = await openSocketStage(() => answer({ text: "Hello there, this is the answer." }));
      const client = await stage.dial();
      client.say("hi");
      const end = await client.untilType("agent.response.end");
      expect(textOf(client.said)).toBe("Hello there, this is the answer.");
      const run = await stage.ask("GET", `/v1/runs/${end.payload["runId"]}`);
      expect(end.payload).toMatchObject({ outcome: "COMPLETED_CHAT_ONLY", digest: run.json["state_digest"] });
      expect(client.said.filter((message) => !isMessage.Check(message))).toEqual([]);
      expect(client.said.map(({ type }) => type)).toEqual(
        expect.arrayContaining(["session.created", "session.resumed", "agent.response", "agent.response.end"]),
      );
      expect(stage.defects).toEqual([]);
    },
  );

  verifies("T-1.1", "is asked about a call, allows it, and sees it performed", async () => {
    const stage = await openSocketStage((_, index) =>
      index === 0 ? answer({ calls: [WRITE] }) : answer({ text: "Written." }),
    );
    const client = await stage.dial();
    client.say("write it");
    const asked = await client.until(({ payload }) => "approval" in payload);
    expect(asked).toMatchObject({
      type: "tool.call",
      payload: {
        tool: "fs.write_text",
        args: WRITE.arguments,
        approval: {
          prompt: expect.stringContaining("⚠️ The assistant wants to run:"),
          actions: [
            { label: "Allow", decision: "allow" },
            { label: "Deny", decision: "deny" },
          ],
        },
      },
    });
    const { id, plan_hash } = asked.payload["approval"] as { readonly id: string; readonly plan_hash: string };
    const wrong = { approval_id: id, plan_hash: "0".repeat(64), decision: "allow" };
    client.say("", { text: null, action: wrong });
    expect((await client.untilType("error")).payload).toMatchObject({ code: "conflict", messageId: "msg_2" });
    client.say("", { text: null, action: { ...wrong, plan_hash } });
    await client.untilType("agent.response.end");
    expect(await readFile(join(stage.workspace, "a.txt"), "utf8")).toBe("hello");
    const ofCall = client.said.filter(({ type }) => type.startsWith("tool."));
    expect(ofCall.map(({ type, payload }) => [type, "approval" in payload, payload["ok"]])).toEqual([
      ["tool.call", true, undefined],
      ["tool.call", false, undefined],
      ["tool.result", false, true],
    ]);
    expect(client.said.filter((message) => !isMessage.Check(message))).toEqual([]);
    expect(stage.defects).toEqual([]);
  });

  verifies("T-1.1", "is answered a command at once", async () => {
    const stage = await openSocketStage(() => answer({ text: "no" }));
    const client = await stage.dial();
    client.say("/help");
    await client.untilType("agent.response.end");
    expect(textOf(client.said)).toContain("/new");
    expect(stage.model.requests).toEqual([]);
  });
});

test("who comes while a question waits is asked it", async () => {
  const stage = await openSocketStage(() => answer({ calls: [WRITE] }));
  const first = await stage.dial();
  first.say("write it");
  await first.until(({ payload }) => "approval" in payload);
  const second = await stage.dial();
  expect((await second.untilType("tool.call")).payload).toMatchObject({ args: WRITE.arguments });
});

describe("what a client may not do", () => {
  verifies("T-1.1", "anything but channel.message is an error and close code 4403", async () => {
    const stage = await openSocketStage(() => answer({ text: "no" }));
    const envelope = { id: "x", type: "channel.message", timestamp: 0, payload: {} };
    for (const wrong of [{ ...envelope, type: "tool.call" }, "no json", "[]", { type: "channel.message" }]) {
      const client = await stage.dial();
      client.send(wrong);
      expect((await client.untilType("error")).payload).toMatchObject({ code: "invalid.request" });
      expect((await client.closed).code).toBe(4403);
    }
  });

  test("a message of the right type that is wrong is an error, and the connection goes on", async () => {
    const stage = await openSocketStage(() => answer({ text: "Yes." }));
    const client = await stage.dial();
    client.say("hi", { unknown: 1 });
    expect((await client.untilType("error")).payload).toMatchObject({
      code: "invalid.request",
      message: expect.stringContaining("unknown"),
      messageId: "msg_1",
    });
    client.say("hi");
    await client.untilType("agent.response.end");
    expect(textOf(client.said)).toBe("Yes.");
  });
});
