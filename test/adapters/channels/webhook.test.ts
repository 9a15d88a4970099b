/** The webhook keeps the contract of channels, and Standard Webhooks' own example. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { readMessage } from "../../../src/adapters/channels/webhook/read-message.ts";
import { objectionTo, readSecret, sign } from "../../../src/adapters/channels/webhook/signature.ts";
import { webhookChannel } from "../../../src/adapters/channels/webhook/webhook-channel.ts";
import { createGuardedPost } from "../../../src/adapters/tools/http/guarded-post.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { systemRandomness } from "../../../src/boot/system-randomness.ts";
import type { ChannelMessage } from "../../../src/runtime/ports/channel.ts";
import { type ChannelStage, describeChannel } from "./channel-contract.ts";

const KEY = Buffer.alloc(32, 9);

async function open(): Promise<ChannelStage> {
  const arrived: string[] = [];
  let conduct: Parameters<ChannelStage["conduct"]>[0] = "takes";
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      arrived.push(JSON.parse(Buffer.concat(chunks).toString()).payload.text);
      if (conduct === "takes-and-breaks") request.socket.destroy();
      else response.writeHead({ takes: 204, refuses: 400, "is-busy": 503, "is-away": 204 }[conduct]).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const channel = webhookChannel({
    ...{ name: "crm", channelClass: "external_message", key: KEY, deduplicates: false, recipients: {} },
    ...{ clock: systemClock, random: systemRandomness, post: createGuardedPost(url) },
    isAccepted: (senderId) => Promise.resolve(senderId === "anna"),
  });
  const post = async ({ messageId, group, ...said }: ChannelMessage, key: Buffer): Promise<boolean> => {
    const body = JSON.stringify({ ...said, isGroup: group !== null, groupId: group?.id, mentioned: group?.mentioned });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = sign(key, messageId, timestamp, body);
    const headers = { "webhook-id": messageId, "webhook-timestamp": timestamp, "webhook-signature": signature };
    return (await channel.receive?.({ headers, body }))?.ok ?? false;
  };
  return {
    ...{ channel, arrived, recipient: "anna" },
    deliver: (message) => post(message, KEY),
    forge: (message) => post(message, Buffer.alloc(32, 8)),
    async conduct(how) {
      conduct = how;
      if (how === "is-away") await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a webhook is a channel", () => {
  describeChannel(open);
});

test("signatures are those of Standard Webhooks", () => {
  // The example of its reference libraries.
  const key = readSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const [id, timestamp, body] = ["msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", '{"test": 2432232314}'];
  const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  if (key === null) throw new Error("the secret is not read");
  expect(sign(key, id, timestamp, body)).toBe(signature);
  const atMs = 1_614_265_330_000;
  const objection = (given: object, nowMs = atMs, text = body) =>
    objectionTo(key, { id, timestamp, signature, ...given }, text, nowMs);
  expect(objection({})).toBeNull();
  expect(objection({ signature: `v1,AAAA v1a,BBBB ${signature}` })).toBeNull();
  expect(objection({}, atMs + 300_999)).toBeNull();
  expect(objection({}, atMs + 301_000)).toBe("expired");
  expect(objection({}, atMs - 301_000)).toBe("expired");
  expect(objection({ signature: signature.replace("v1", "v2") })).toBe("wrong");
  expect(objection({ id: "msg_other" })).toBe("wrong");
  expect(objection({ timestamp: "1614265331" })).toBe("wrong");
  expect(objection({}, atMs, '{"test": 2432232315}')).toBe("wrong");
  expect(objection({ timestamp: "1e9" })).toBe("malformed");
  expect(objection({ id: "" })).toBe("malformed");
});

test("a secret has its prefix and 24 to 64 bytes", () => {
  const secret = (bytes: number) => readSecret(`whsec_${Buffer.alloc(bytes, 1).toString("base64")}`)?.length ?? null;
  expect([16, 23, 24, 64, 65].map(secret)).toEqual([null, null, 24, 64, null]);
  expect(readSecret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toBeNull();
  expect(readSecret("whsec_not base64 at all, but long enough to be")).toBeNull();
});

test("the payload of a message is read by itself and in its envelope; what is wrong is named", () => {
  const read = (body: unknown) => readMessage(typeof body === "string" ? body : JSON.stringify(body), "crm");
  const message = { senderId: "u1", senderName: "Orlando", text: "hi", group: null };
  const payload = {
    channel: "crm",
    senderId: "u1",
    senderName: "Orlando",
    text: "hi",
    media: null,
    isGroup: false,
    groupId: null,
  };
  expect(read(payload)).toEqual({ ok: true, message });
  expect(read({ id: "m", type: "channel.message", timestamp: 1, payload })).toEqual({ ok: true, message });
  expect(read({ ...payload, isGroup: true, groupId: "g" })).toMatchObject({
    message: { group: { id: "g", mentioned: false } },
  });
  const wrong: readonly [unknown, RegExp][] = [
    ["{", /not valid JSON/],
    [[], /must be a JSON object/],
    [{ type: "tool.call", payload }, /type must be channel\.message/],
    [{ type: "channel.message", payload: 7 }, /payload must be an object/],
    [{ ...payload, channel: "telegram" }, /channel must be crm/],
    [{ ...payload, senderId: 42 }, /senderId/],
    [{ ...payload, text: null }, /text/],
    [{ ...payload, senderName: 7 }, /senderName/],
    [{ ...payload, mentioned: "yes" }, /mentioned/],
    [{ ...payload, isGroup: true }, /groupId/],
    [{ ...payload, media: [{}] }, /media/],
  ];
  for (const [body, problem] of wrong) {
    expect(read(body)).toMatchObject({ ok: false, problem: expect.stringMatching(problem) });
  }
});
