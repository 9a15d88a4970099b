/** What every channel keeps to, inbound and outbound (src/runtime/ports/channel.ts). */
import { expect, test } from "vitest";
import { type Channel, ChannelError, type ChannelMessage, type Taken } from "../../../src/runtime/ports/channel.ts";

export interface ChannelStage {
  readonly channel: Channel;
  /** A recipient that exists. */
  readonly recipient: string;
  /** The other side sends a message; resolves with whether it was acknowledged. */
  deliver(message: ChannelMessage): Promise<boolean>;
  /** The same message as a forger would send it. */
  forge(message: ChannelMessage): Promise<boolean>;
  /** What the other side does with the next message of ours. */
  conduct(how: "takes" | "refuses" | "is-busy" | "takes-and-breaks" | "is-away"): Promise<void>;
  /** Texts that arrived there. */
  readonly arrived: readonly string[];
}

const MESSAGE: ChannelMessage = { messageId: "m1", senderId: "anna", senderName: "Anna", text: "hello", group: null };

export function describeChannel(open: () => Promise<ChannelStage>): void {
  test("hands on what came in, and acknowledges it when it was taken", async () => {
    const { channel, deliver, forge } = await open();
    expect(await deliver(MESSAGE)).toBe(false);
    const taken: ChannelMessage[] = [];
    let verdict: Taken = { ok: false, code: "store.unavailable", message: "retry" };
    channel.listen((message) => {
      taken.push(message);
      return Promise.resolve(verdict);
    });
    expect(await deliver(MESSAGE)).toBe(false);
    verdict = { ok: true };
    expect(await deliver(MESSAGE)).toBe(true);
    expect(await deliver({ ...MESSAGE, group: { id: "g", mentioned: true } })).toBe(true);
    expect(taken).toEqual([MESSAGE, MESSAGE, { ...MESSAGE, group: { id: "g", mentioned: true } }]);
    expect(await forge(MESSAGE)).toBe(false);
    expect(taken).toHaveLength(3);
  });

  test("finds recipients without sending, and sends", async () => {
    const stage = await open();
    const { channel, recipient, arrived } = stage;
    expect(await channel.findRecipient("surely nobody")).toBeNull();
    const found = await channel.findRecipient(recipient);
    expect(found).toMatchObject({ address: recipient });
    expect(arrived).toEqual([]);
    await send(stage, "hi");
    expect(arrived).toEqual(["hi"]);
  });

  test("says whether a message that failed can have gone out", async () => {
    const stage = await open();
    const expected = { refuses: "refused", "is-busy": "unavailable", "takes-and-breaks": "unknown" } as const;
    for (const [how, code] of Object.entries(expected) as [keyof typeof expected, string][]) {
      await stage.conduct(how);
      const error = await send(stage, how).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ChannelError);
      expect([how, (error as ChannelError).code]).toEqual([how, `channel.${code}`]);
      expect((error as ChannelError).message).not.toContain(how);
    }
    await stage.conduct("is-away");
    await expect(send(stage, "x")).rejects.toMatchObject({ code: "channel.unavailable" });
  });

  test("does not send what was stopped before", async () => {
    const stage = await open();
    await expect(send(stage, "x", AbortSignal.abort())).rejects.toThrow();
    expect(stage.arrived).toEqual([]);
  });
}

async function send({ channel, recipient }: ChannelStage, text: string, signal = new AbortController().signal) {
  const found = await channel.findRecipient(recipient);
  if (found === null) throw new Error("the recipient is gone");
  await channel.send(
    { recipient: found, text, templateId: null, attachments: [], idempotencyKey: `key ${text}` },
    signal,
  );
}
