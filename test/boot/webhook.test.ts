/** A signed webhook through a real gateway: message in, run, answer out; crashes in between; strangers. */
import { describe, expect, test } from "vitest";
import { answer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openWebhookStage } from "./webhook-stage.ts";

const LIMIT_MS = 60_000;
const TAKEN = { status: 200, body: { ok: true } };

describe("a webhook", () => {
  verifies(
    ["X-13", "X-23"],
    "a stranger gets a code and reaches no model; accepted, each message runs once and its answer goes out signed",
    async () => {
      const stage = await openWebhookStage();
      const { hook, receiver, model, surety } = stage;
      expect(await hook({ text: "hello" }, { id: "m1" })).toEqual(TAKEN);
      await receiver.arrived(1);
      const [first] = receiver.posted;
      const code = /surety pair accept ([0-9A-Z]{8})\b/.exec(first?.payload.text ?? "")?.[1] ?? "";
      expect(first).toMatchObject({ isSigned: true, payload: { recipientId: "anna", recipientType: "contact" } });
      // Neither the same message nor the next ones bring another code.
      expect(await hook({ text: "hello" }, { id: "m1" })).toEqual(TAKEN);
      expect(await hook({ text: "hello again" })).toEqual(TAKEN);
      const waiting = await surety("pair", "ls", "--json");
      expect(JSON.parse(waiting.stdout).pairings).toMatchObject([
        { sender_id: "anna", sender_name: "Anna", code, state: "pending" },
      ]);
      expect(await surety("pair", "accept", code)).toMatchObject({ code: 0, stdout: "crm:anna: accepted\n" });
      expect(model.requests).toHaveLength(0);

      expect(await hook({ text: "now?" }, { id: "m2" })).toEqual(TAKEN);
      expect(await hook({ text: "now?" }, { id: "m2" })).toEqual(TAKEN);
      await receiver.arrived(2);
      await stage.listed("/api/outbox?state=sent", "messages", ({ run_id }) => run_id !== null);
      expect(await hook({ text: "now?" }, { id: "m2" })).toEqual(TAKEN);
      expect(await hook({ text: "/status" })).toEqual(TAKEN);
      await receiver.arrived(3);
      expect(receiver.posted.slice(1).map(({ isSigned, payload: { text } }) => [isSigned, text.split(":")[0]])).toEqual(
        [
          [true, "Hello Anna."],
          [true, expect.stringMatching(/^Conversation session_/)],
        ],
      );
      expect(model.requests).toHaveLength(1);

      expect(await surety("pair", "deny", "crm:anna")).toMatchObject({ code: 0 });
      expect(await hook({ text: "and now?" })).toEqual(TAKEN);
      expect(receiver.posted).toHaveLength(3);
      expect(model.requests).toHaveLength(1);
    },
    LIMIT_MS,
  );

  verifies(
    "X-13",
    "only what is signed with the secret, in time and for this channel is believed",
    async () => {
      const stage = await openWebhookStage();
      await stage.accept("anna");
      const refused = { status: 403, body: { error: { code: "auth.forbidden" } } };
      const now = Math.floor(Date.now() / 1000);
      expect(await stage.hook({ text: "x" }, { signature: "v1,AAAA" })).toMatchObject(refused);
      expect(await stage.hook({ text: "x" }, { signature: "" })).toMatchObject(refused);
      expect(await stage.hook({ text: "x" }, { channel: "other" })).toMatchObject(refused);
      expect(await stage.hook({ text: "x" }, { timestamp: now - 301 })).toMatchObject(refused);
      expect(await stage.hook({ text: "x" }, { timestamp: now + 301 })).toMatchObject(refused);
      expect(await stage.hook({ text: "x" }, { id: "a.b" })).toMatchObject(refused);
      const invalid = { status: 400, body: { error: { code: "invalid.request" } } };
      expect(await stage.hook({ text: 7 })).toMatchObject(invalid);
      expect(await stage.hook({ text: "  " })).toMatchObject(invalid);
      expect(await stage.hook({ text: "x", isGroup: true })).toMatchObject(invalid);
      expect(stage.model.requests).toHaveLength(0);
      expect(await stage.hook({ text: "x" }, { timestamp: now - 290 })).toEqual(TAKEN);
      await stage.receiver.arrived(1);
    },
    LIMIT_MS,
  );

  test(
    "in a group it answers the group, when it is mentioned",
    async () => {
      const stage = await openWebhookStage();
      await stage.accept("anna");
      expect(await stage.hook({ text: "chatter", isGroup: true, groupId: "g1" })).toEqual(TAKEN);
      expect(await stage.hook({ text: "you there?", isGroup: true, groupId: "g1", mentioned: true })).toEqual(TAKEN);
      await stage.receiver.arrived(1);
      expect(stage.receiver.posted[0]?.payload).toMatchObject({ recipientId: "g1", recipientType: "group" });
      expect(stage.model.requests).toHaveLength(1);
    },
    LIMIT_MS,
  );
});

describe("a crash", () => {
  verifies(
    "X-13",
    "between run and delivery: the answer goes out once at the next start",
    async () => {
      const release = Promise.withResolvers<void>();
      const stage = await openWebhookStage({ script: () => answer({ text: "Late.", after: release.promise }) });
      await stage.accept("anna");
      expect(await stage.hook({ text: "hello" })).toEqual(TAKEN);
      await stage.model.arrival(0);
      await stage.gateway.kill();
      release.resolve();
      await stage.start();
      await stage.receiver.arrived(1);
      await stage.listed("/api/outbox?state=sent", "messages", ({ attempts }) => attempts === 1);
      expect(stage.receiver.posted.map(({ payload: { text } }) => text)).toEqual(["Late."]);
    },
    LIMIT_MS,
  );

  verifies(
    "X-13",
    "while the answer is being sent: it is ambiguous, and sent again only by a person's word",
    async () => {
      const stage = await openWebhookStage();
      await stage.accept("anna");
      stage.receiver.conduct = () => "hang";
      await stage.hook({ text: "hello" });
      await stage.receiver.arrived(1);
      await stage.gateway.kill();
      stage.receiver.conduct = () => 200;
      await stage.start();
      const { id } = await stage.listed("/api/outbox?state=ambiguous", "messages", () => true);
      expect(stage.receiver.posted).toHaveLength(1);
      await stage.gateway.ask("POST", "/api/outbox", { id, decision: "retry" });
      await stage.receiver.arrived(2);
      expect(stage.receiver.posted[1]?.id).toBe(stage.receiver.posted[0]?.id);
      await stage.listed("/api/outbox?state=sent", "messages", (row) => row["id"] === id);
    },
    LIMIT_MS,
  );

  test(
    "while the answer is being sent to a receiver that drops repeats: it is sent again under the same id",
    async () => {
      const stage = await openWebhookStage({ channel: { deduplicates: true } });
      await stage.accept("anna");
      stage.receiver.conduct = () => "hang";
      await stage.hook({ text: "hello" });
      await stage.receiver.arrived(1);
      await stage.gateway.kill();
      stage.receiver.conduct = () => 200;
      await stage.start();
      await stage.receiver.arrived(2);
      expect(stage.receiver.posted[1]?.id).toBe(stage.receiver.posted[0]?.id);
    },
    LIMIT_MS,
  );
});
