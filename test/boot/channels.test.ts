/** Channels on a real home: what goes out, when, and to whom; a scripted model and a receiver on loopback. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { EventBus } from "../../src/assistant/events/event-bus.ts";
import { verifyHome } from "../../src/assistant/verification/verify-home.ts";
import { answer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { type ChannelHome, openChannels } from "./open-channels.ts";

const TAKEN = { ok: true };
const CALL = { name: "fs.read_text", arguments: { path: "secret-plans.txt" } };

/** The texts that went out. */
const told = ({ receiver }: ChannelHome): readonly string[] => receiver.posted.map(({ payload }) => payload.text);

async function onlyCard({ surety }: ChannelHome) {
  return await vi.waitFor(
    async () => {
      const listed = await surety.operations.call("approvals.list", {});
      const [card] = listed.ok ? listed.value.approvals : [];
      if (card === undefined) throw new Error("nothing is asked");
      return card;
    },
    { timeout: 10_000, interval: 10 },
  );
}

describe("a webhook", () => {
  verifies(
    "X-13",
    "believes what is signed with the secret, in time and for this channel, and nothing else",
    async () => {
      const { hook, model, receiver } = await openChannels();
      const refused = { ok: false, code: "auth.forbidden" };
      expect(await hook({ text: "x" }, { signature: "v1,AAAA" })).toMatchObject(refused);
      expect(await hook({ text: "x" }, { signature: "" })).toMatchObject(refused);
      expect(await hook({ text: "x" }, { channel: "other" })).toMatchObject(refused);
      expect(await hook({ text: "x" }, { laterS: -302 })).toMatchObject(refused);
      expect(await hook({ text: "x" }, { laterS: 302 })).toMatchObject(refused);
      expect(await hook({ text: "x" }, { id: "a.b" })).toMatchObject(refused);
      const bad = [
        { text: 7 },
        { text: "  " },
        { text: "x", isGroup: true },
        { text: "x", senderId: 7 },
        { text: "x", media: [] },
      ];
      for (const payload of bad) expect(await hook(payload)).toMatchObject({ ok: false, code: "invalid.request" });
      expect(model.requests).toHaveLength(0);
      expect(
        await hook({ type: "channel.message", payload: { senderId: "anna", text: "x" } }, { laterS: -290 }),
      ).toEqual(TAKEN);
      await receiver.arrived(1);
    },
  );

  verifies("X-13/once", "runs a message once that comes twice, at once or later", async () => {
    const channels = await openChannels();
    const twice = [channels.hook({ text: "hi" }, { id: "m" }), channels.hook({ text: "hi" }, { id: "m" })];
    expect(await Promise.all(twice)).toEqual([TAKEN, TAKEN]);
    await channels.outgoing("sent");
    expect(await channels.hook({ text: "hi" }, { id: "m" })).toEqual(TAKEN);
    expect(await channels.hook({ text: "/help" }, { id: "h" })).toEqual(TAKEN);
    expect(await channels.hook({ text: "/help" }, { id: "h" })).toEqual(TAKEN);
    await channels.receiver.arrived(2);
    expect((await channels.surety.store.listRuns({ limit: 10, offset: 0 })).total).toBe(1);
    expect(channels.receiver.posted).toHaveLength(2);
  });

  verifies("T-2.3/activation", "answers a group when it is mentioned, or always, as configured", async () => {
    const group = { isGroup: true, groupId: "g1" };
    const polite = await openChannels();
    await polite.hook({ text: "chatter", ...group });
    await polite.hook({ text: "you there?", ...group, mentioned: true });
    await polite.receiver.arrived(1);
    expect(polite.receiver.posted[0]?.payload).toMatchObject({ recipientId: "g1", recipientType: "group" });
    expect(polite.model.requests).toHaveLength(1);
    const eager = await openChannels({ channel: { activation: "always" } });
    await eager.hook({ text: "chatter", ...group });
    await eager.receiver.arrived(1);
  });
});

describe("a message that comes in", () => {
  const hi = { text: "hi" };
  const cases = { run: hi, answered: { text: "/help" }, unpaired: { ...hi, senderId: "eve" } };
  const ignored = { ...hi, isGroup: true, groupId: "g", mentioned: false };

  verifies("X-13/state", "ends in a typed state, under the channel's own id; a run in its outcome", async () => {
    const { hook, surety } = await openChannels();
    for (const [state, payload] of Object.entries({ ...cases, ignored })) {
      expect(await hook(payload, { id: `m-${state}` })).toEqual(TAKEN);
      expect(await surety.store.findInbound("crm", `m-${state}`)).toMatchObject({ messageId: `m-${state}`, state });
    }
    const { runId = null } = (await surety.store.findInbound("crm", "m-run")) ?? {};
    await vi.waitFor(
      async () =>
        expect(runId && (await surety.store.findRun(runId))).toMatchObject({ outcome: "COMPLETED_CHAT_ONLY" }),
      { timeout: 10_000, interval: 10 },
    );
  });

  verifies("X-13/durable", "is acknowledged once it is durable, and not before", async () => {
    let gate = Promise.resolve();
    let reached = (): void => {};
    const { hook, surety } = await openChannels({
      overStore: (store) => ({
        ...store,
        commit: async (writes, urgency) => {
          reached();
          await gate;
          return await store.commit(writes, urgency);
        },
      }),
    });
    for (const [state, payload] of Object.entries({ ...cases, ignored })) {
      const { promise, resolve: open } = Promise.withResolvers<void>();
      gate = promise;
      const committing = new Promise<void>((resolve) => {
        reached = resolve;
      });
      let isAcknowledged = false;
      const taken = hook(payload, { id: `m-${state}` }).then((verdict) => {
        isAcknowledged = true;
        return verdict;
      });
      await committing;
      // A round trip to the store: what could be acknowledged by now would be.
      expect(await surety.store.findInbound("crm", `m-${state}`)).toBeNull();
      await new Promise((resolve) => setImmediate(resolve));
      expect([state, isAcknowledged]).toEqual([state, false]);
      open();
      expect(await taken).toEqual(TAKEN);
      expect(await surety.store.findInbound("crm", `m-${state}`)).toMatchObject({ state });
    }
  });
});

describe("what someone outside gets", () => {
  verifies(
    ["P-2.4/final", "P-2.4/streaming", "P-3.4/no-trace"],
    "is the final answer alone, without tools, traces or what came before it",
    async () => {
      const channels = await openChannels({
        script: ({ body }) =>
          body.messages.at(-1)?.role === "tool"
            ? answer({ text: "There is no such file." })
            : answer({ text: "Let me look.", reasoning: "hm", calls: [CALL] }),
      });
      expect(await channels.hook({ text: "read it" })).toEqual(TAKEN);
      await channels.outgoing("sent");
      expect(told(channels)).toEqual(["There is no such file."]);
      expect(channels.model.requests[0]?.body.stream ?? false).toBe(false);
    },
  );

  verifies(
    ["P-3.4/code", "P-3.4/actionable", "P-3.4/no-stack"],
    "of a run that failed is one code, a question and the run's id",
    async () => {
      const channels = await openChannels({
        script: () => ({ kind: "http", status: 401, body: "bad key: sk-secret" }),
      });
      await channels.hook({ text: "hello" });
      const { runId } = await channels.outgoing("sent");
      const [text = ""] = told(channels);
      expect(text).toMatch(/^I could not finish this \(internal\.error\)\. How should I continue\? /);
      expect(text).toContain(runId);
      expect(text).not.toMatch(/secret|401|provider|tool|stack/i);
    },
  );

  verifies("X-23", "is neither the model's name nor a way to choose it or how it thinks", async () => {
    const channels = await openChannels();
    await channels.hook({ text: "hello" });
    await channels.receiver.arrived(1);
    for (const [at, text] of ["/model", "/model loop:scripted", "/think high", "/status", "/help"].entries()) {
      await channels.hook({ text });
      await channels.receiver.arrived(at + 2);
    }
    const [, model, set, think, status, help] = told(channels);
    expect([model, set, think]).toEqual(
      Array.from({ length: 3 }, () => "Only the operator of this assistant decides that."),
    );
    expect(status).toMatch(/^Conversation .*\nNothing is going on\.$/);
    expect([status, help].join("\n")).not.toMatch(/scripted|loop|\/model|\/think|\/approve/i);
    const { sessions } = await channels.surety.store.listSessions({}, { limit: 10, offset: 0 });
    expect(sessions.map(({ settings }) => settings)).toEqual([{}]);
  });

  verifies("X-23", "is a refusal when its sender has no name, or none that can be one", async () => {
    const channels = await openChannels();
    for (const senderId of ["", "  ", "a".repeat(513), "a".repeat(100_000), "an\nna", "\u0000"]) {
      const refused = await channels.hook({ text: "hello", senderId });
      expect([senderId.length, refused]).toEqual([
        senderId.length,
        expect.objectContaining({ ok: false, code: "invalid.request" }),
      ]);
    }
    expect(await channels.hook({ text: "hello", senderId: null })).toMatchObject({
      ok: false,
      code: "invalid.request",
    });
    expect((await channels.hook({ text: "hello", senderId: "a".repeat(512) })).ok).toBe(true);
    expect(await channels.surety.store.listPairings({ limit: 10, offset: 0 })).toHaveLength(2);
    expect(channels.model.requests).toEqual([]);
    expect(channels.defects).toEqual([]);
  });

  verifies("X-23", "is neither what waits for the operator, nor a way to answer it", async () => {
    const channels = await openChannels({
      script: ({ body }) =>
        body.messages.at(-1)?.role === "tool"
          ? answer({ text: "As you wish." })
          : answer({ calls: [{ name: "fs.write_text", arguments: { path: "a.txt", text: "x" } }] }),
      tools: { policy: { channels: { external_message: ["fs.write_text"] } } },
    });
    await channels.hook({ text: "write it" });
    const card = await onlyCard(channels);
    await channels.hook({ text: "/status" });
    await channels.hook({ text: "/approve" });
    await channels.receiver.arrived(2);
    expect(told(channels)[0]).not.toMatch(/fs\.write_text|\/approve/);
    expect(told(channels)[1]).toBe("Only the operator of this assistant decides that.");
    expect((await onlyCard(channels)).state).toBe("pending");
    const { id, plan_hash } = card;
    await channels.surety.operations.call("approvals.decide", { id, decision: "deny", plan_hash });
    await channels.receiver.arrived(3);
    expect(told(channels)[2]).toBe("As you wish.");
  });
});

describe("mail", () => {
  const MAIL = { channel: { class: "external_email" } };
  const decide = async (channels: ChannelHome, decision: "allow" | "deny", hash?: string) => {
    const { id, plan_hash } = await onlyCard(channels);
    return await channels.surety.operations.call("approvals.decide", { id, decision, plan_hash: hash ?? plan_hash });
  };

  verifies("P-2.4/email", "goes out once the operator has allowed its text, and only that", async () => {
    const channels = await openChannels(MAIL);
    await channels.hook({ text: "hello" });
    const { id } = await channels.outgoing("waiting_approval");
    expect(await onlyCard(channels)).toMatchObject({ kind: "approve", plan: expect.stringContaining("| Hello Anna.") });
    expect(await decide(channels, "allow", "0".repeat(64))).toMatchObject({ ok: false, code: "conflict" });
    expect(channels.receiver.posted).toEqual([]);
    expect(await decide(channels, "allow")).toMatchObject({ ok: true });
    expect(await channels.outgoing("sent")).toMatchObject({ id });
    expect(told(channels)).toEqual(["Hello Anna."]);
    const { runId } = await channels.outgoing("sent");
    const [used] = runId === null ? [] : await channels.surety.store.approvalsOf(runId);
    expect(used?.state).toBe("consumed");
    const { store } = channels.surety;
    expect(await verifyHome({ store, trusted: null, findDamage: () => [] })).toMatchObject({ ok: true, findings: [] });
  });

  verifies("P-2.4/email", "that is denied stays here; sent again, it is asked about again", async () => {
    const channels = await openChannels(MAIL);
    await channels.hook({ text: "/status" });
    await channels.outgoing("waiting_approval");
    await decide(channels, "deny");
    const { id, problem } = await channels.outgoing("failed");
    expect(problem).toBe("The operator denied it.");
    expect(await channels.surety.operations.call("outbox.settle", { id, decision: "retry" })).toMatchObject({
      value: { state: "waiting_approval" },
    });
    await decide(channels, "allow");
    await channels.outgoing("sent");
    expect(told(channels)).toEqual(["Hello Anna."]);
  });

  verifies("X-23", "from an unknown sender is not answered: the code stands in the list", async () => {
    const channels = await openChannels(MAIL);
    expect(await channels.hook({ senderId: "eve", text: "hello" })).toEqual(TAKEN);
    const pairings = await channels.surety.delivery.pairing.list({ limit: 10, offset: 0 });
    expect(pairings).toMatchObject([{ senderId: "anna" }, { senderId: "eve", state: "pending" }]);
    expect(await channels.surety.store.listOutbox({ state: null }, { limit: 10, offset: 0 })).toEqual([]);
  });
});

describe("a message that was not taken", () => {
  test("is sent again after a pause when the receiver took nothing, and given up where it says no", async () => {
    const channels = await openChannels();
    channels.receiver.conduct = () => 503;
    await channels.hook({ text: "one" });
    const refused = { attempts: 1, problem: "The receiver answered HTTP 503." };
    await vi.waitFor(async () => expect(await channels.outgoing("waiting")).toMatchObject(refused), {
      timeout: 10_000,
      interval: 10,
    });
    channels.receiver.conduct = () => 404;
    await channels.hook({ text: "two", senderId: "anna", isGroup: true, groupId: "g", mentioned: true });
    expect(await channels.outgoing("failed")).toMatchObject({ problem: "The receiver answered HTTP 404." });
  });

  verifies("X-13/ambiguous", "is ambiguous when the connection broke", async () => {
    const channels = await openChannels();
    channels.receiver.conduct = () => "reset";
    await channels.hook({ text: "one" });
    const { id } = await channels.outgoing("ambiguous");
    expect(channels.receiver.posted).toHaveLength(1);
    const settle = (decision: "sent" | "retry") => channels.surety.operations.call("outbox.settle", { id, decision });
    expect(await settle("sent")).toMatchObject({ value: { state: "sent" } });
    expect(await settle("retry")).toMatchObject({ ok: false, code: "conflict" });
  });
});

describe("unknown senders", () => {
  verifies("X-23", "of a channel may wait in a small number, and reach no model", async () => {
    const channels = await openChannels();
    for (let at = 0; at < 25; at += 1) expect(await channels.hook({ senderId: `eve${at}`, text: "hi" })).toEqual(TAKEN);
    await channels.receiver.arrived(20);
    const texts = told(channels).map((text) => text.replace(/accept \w{8}\./, "accept CODE."));
    expect(new Set(texts).size).toBe(1);
    expect(channels.receiver.posted).toHaveLength(20);
    expect(channels.model.requests).toHaveLength(0);
  });
});

describe("events", () => {
  const title = "tell what happens; a handler that throws, rejects or never ends hurts no run";
  verifies(["T-6/emitted", "T-6/handlers"], title, async () => {
    const channels = await openChannels({
      sessions: { idleMs: 1000 },
      script: ({ body }) =>
        body.messages.at(-1)?.role === "tool" ? answer({ text: "Done." }) : answer({ calls: [CALL] }),
    });
    await writeFile(join(channels.workspace, "secret-plans.txt"), "x");
    const heard: string[] = [];
    const { events } = channels.surety;
    const names = [
      "message.inbound",
      "session.created",
      "agent.thinking",
      "tool.execute",
      "tool.complete",
      "message.outbound",
      "session.idle",
      "config.changed",
    ];
    for (const name of names as Parameters<EventBus["on"]>[0][]) {
      events.on(name, () => heard.push(name));
      events.on(name, () => new Promise(() => {}));
      events.on(name, () => Promise.reject(new Error(name)));
      events.once(name, () => {
        throw new Error(`once ${name}`);
      });
    }
    await channels.hook({ text: "read it" });
    await channels.outgoing("sent");
    await channels.reconfigure({ approvals: { timeoutS: 5 } });
    await vi.waitFor(() => expect(heard).toEqual(expect.arrayContaining(names)), { timeout: 10_000, interval: 10 });
    expect([...heard].sort()).toEqual([...names, "agent.thinking"].sort());
    await vi.waitFor(() => expect(channels.defects).toHaveLength(2 * names.length + 1));
    const silent = vi.fn();
    events.on("session.created", silent);
    events.off("session.created", silent);
    await channels.hook({ text: "/new" });
    await channels.receiver.arrived(2);
    expect(silent).not.toHaveBeenCalled();
    expect(heard.filter((name) => name === "session.created")).toHaveLength(2);
  });
});
