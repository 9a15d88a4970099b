/** The outbox on a real store, with a channel that fails as the test says and a clock that the test turns. */
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { MailApprovals } from "../../../src/assistant/delivery/mail-approvals.ts";
import { Outbox } from "../../../src/assistant/delivery/outbox.ts";
import { ChannelError } from "../../../src/runtime/ports/channel.ts";
import type { NewDelivery, OutboxState } from "../../../src/runtime/ports/stored-delivery.ts";
import { manualClock } from "../../adapters/models/manual-clock.ts";
import { failing, testChannel } from "../../adapters/tools/message/test-channel.ts";
import { verifies } from "../../requirements.ts";
import { storeOfFile } from "../../runtime/trial/open-trial.ts";

const store = storeOfFile();
const HOUR_MS = 3_600_000;
let channels = 0;

function stage(idempotency: "keyed" | "opaque" = "opaque") {
  const channel = testChannel({ name: `post${++channels}`, idempotency });
  const clock = manualClock();
  const defects: unknown[] = [];
  const approvals = { watch: () => {} };
  const outbox = new Outbox({
    ...{ store: store(), clock, channels: () => [channel], onSent: () => {}, onDefect: (error) => defects.push(error) },
    mailApprovals: new MailApprovals({
      store: store(),
      clock,
      random: randomBytes,
      approvals,
      timeoutMs: () => HOUR_MS,
    }),
  });
  onTestFinished(() => {
    const stopped = outbox.stop(0);
    clock.pass(0);
    return stopped;
  });
  const put = async (text: string, address = "anna"): Promise<string> => {
    const recipient = { address, type: "contact" };
    const id = `answer_${channel.name}_${text}`;
    const message = { channel: channel.name, messageId: text, state: "answered", receivedAt: "t" } as const;
    const delivery: NewDelivery = {
      ...{ id, recipient, text },
      channel: channel.name,
      runId: null,
      createdAt: "t",
      state: "waiting",
    };
    await store().commit(
      [
        { type: "insert-inbox", message },
        { type: "insert-outbox", delivery },
      ],
      "barrier",
    );
    return id;
  };
  const is = (id: string, state: OutboxState, attempts: number) =>
    vi.waitFor(async () => expect(await store().findDelivery(id)).toMatchObject({ state, attempts }), {
      timeout: 10_000,
      interval: 5,
    });
  const texts = (): readonly string[] => channel.sent.map(({ text }) => text);
  return { channel, clock, outbox, put, is, texts, defects };
}

verifies("X-13/retried", "what was not sent is tried seven times, later and later, and has then failed", async () => {
  const { channel, clock, outbox, put, is } = stage();
  channel.conduct = failing("channel.unavailable");
  const id = await put("hello");
  await outbox.start();
  for (const [at, pauseMs] of [5_000, 30_000, 120_000, 600_000, HOUR_MS, 6 * HOUR_MS].entries()) {
    await is(id, "waiting", at + 1);
    const { nextAtMs = 0 } = (await store().findDelivery(id)) ?? {};
    expect(nextAtMs - clock.nowMs()).toBe(pauseMs);
    clock.pass(pauseMs);
    outbox.wake();
  }
  await is(id, "failed", 7);
  expect((await store().findDelivery(id))?.problem).toBe("The post office is closed.");
});

test("a later message to the same recipient waits behind one that is tried again; others do not", async () => {
  const { channel, clock, outbox, put, is, texts } = stage();
  channel.conduct = ({ text }) =>
    text === "first" ? failing("channel.unavailable")(undefined as never, undefined as never) : Promise.resolve();
  const first = await put("first");
  await put("second");
  const other = await put("other", "bert");
  await outbox.start();
  await is(other, "sent", 1);
  expect(texts()).toEqual(["other"]);
  channel.conduct = () => Promise.resolve();
  clock.pass(5_000);
  outbox.wake();
  await is(first, "sent", 2);
  await vi.waitFor(() => expect(texts()).toEqual(["other", "first", "second"]));
});

verifies(
  "X-13/ambiguous",
  "what may have been sent is repeated where repeats are dropped, and nowhere else",
  async () => {
    for (const [idempotency, state] of [
      ["keyed", "waiting"],
      ["opaque", "ambiguous"],
    ] as const) {
      const { channel, clock, outbox, put, is, texts, defects } = stage(idempotency);
      channel.conduct = failing("channel.unknown");
      const id = await put("hello");
      await outbox.start();
      await is(id, state, 1);
      channel.conduct = () => Promise.reject(new TypeError("a bug"));
      const next = await put("next", "bert");
      outbox.wake();
      await is(next, state, 1);
      expect(defects).toEqual([new TypeError("a bug")]);
      channel.conduct = () => Promise.resolve();
      clock.pass(7 * 24 * HOUR_MS);
      outbox.wake();
      await outbox.start();
      // Sent after all that could be sent again.
      const last = await put("last", "carl");
      outbox.wake();
      await is(last, "sent", 1);
      await is(id, idempotency === "keyed" ? "sent" : "ambiguous", idempotency === "keyed" ? 2 : 1);
      expect(texts()).toEqual(idempotency === "keyed" ? ["hello", "next", "last"] : ["last"]);
    }
  },
);

test("stopping waits for a message under way; after the grace it is stopped, and ambiguous", async () => {
  const { channel, clock, outbox, put, is } = stage();
  const began = Promise.withResolvers<void>();
  channel.conduct = (_message, signal) =>
    new Promise((_resolve, reject) => {
      began.resolve();
      signal.addEventListener("abort", () => reject(new ChannelError("channel.unknown", "It was stopped.")));
    });
  const id = await put("hello");
  await outbox.start();
  await began.promise;
  const stopped = outbox.stop(1_000);
  await is(id, "sending", 1);
  clock.pass(1_000);
  await stopped;
  await is(id, "ambiguous", 1);
});
