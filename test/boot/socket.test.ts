/** The WebSocket, on a home of its own: conversations, approvals, and what a client may not do. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { WsMessageSchema } from "../../src/kernel/journal/views/websocket-messages.ts";
import { answer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { DOT_PNG } from "../runtime/sample-images.ts";
import { openSocketStage, type Said, TOKEN, textOf } from "./socket-stage.ts";

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

  verifies("T-1.1", "shows an image, is asked, allows, and reads the answer, by the seed's words alone", async () => {
    const stage = await openSocketStage((_, index) =>
      index === 0 ? answer({ calls: [WRITE] }) : answer({ text: "A dot; it is written down." }),
    );
    const headers = { authorization: `Bearer ${TOKEN}` };
    const uploaded = await fetch(`http://127.0.0.1:${stage.port}/api/media`, {
      method: "POST",
      headers,
      body: DOT_PNG,
    });
    const { ref } = (await uploaded.json()) as { readonly ref: string };
    const said: Said[] = [];
    const socket = new WebSocket(stage.url, ["surety", `surety.bearer.${TOKEN}`]);
    const speak = (id: string, payload: object): void => {
      const seeds = { channel: "web", senderId: "user_12345", senderName: "Orlando", text: null, media: null };
      const whole = { ...seeds, isGroup: false, groupId: null, ...payload };
      socket.send(JSON.stringify({ id, type: "channel.message", timestamp: 1_708_070_833_000, payload: whole }));
    };
    socket.onopen = () => speak("msg_abc123", { text: "Write down what this shows", media: [{ ref }] });
    await new Promise<void>((resolve) => {
      socket.onmessage = ({ data }) => {
        const message = JSON.parse(String(data));
        said.push(message);
        const { approval } = message.payload;
        if (approval !== undefined) {
          const { id: approval_id, plan_hash } = approval;
          speak("msg_abc124", { action: { approval_id, plan_hash, decision: "allow" } });
        }
        if (message.type === "agent.response.end") resolve();
      };
    });
    socket.close();
    expect(textOf(said)).toBe("A dot; it is written down.");
    expect(said.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["session.created", "tool.call", "tool.result"]),
    );
    expect(await readFile(join(stage.workspace, "a.txt"), "utf8")).toBe("hello");
    expect(JSON.stringify(stage.model.requests[0]?.body.messages.at(-1))).toContain(DOT_PNG.toString("base64"));
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
