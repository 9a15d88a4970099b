/** A signed webhook through a real gateway process: message in, run, answer out, and kill -9 in between. */
import { expect } from "vitest";
import { answer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openWebhookStage } from "./webhook-stage.ts";

const LIMIT_MS = 60_000;
const TAKEN = { status: 200, body: { ok: true } };

verifies(
  ["X-13/durable", "X-13/once", "X-13/ambiguous", "X-13/crash", "X-23"],
  "an unknown sender reaches no model; accepted, a message runs once; killed, its answer goes out once or is ambiguous",
  async () => {
    const texts = ["Hello Anna.", "", "Doubtful."];
    const stage = await openWebhookStage({
      // The second request is never answered: its gateway dies.
      script: ({ index }) =>
        answer({ text: texts[index] ?? "", ...(index === 1 ? { after: new Promise(() => {}) } : {}) }),
    });
    const { hook, receiver, model, surety } = stage;
    const told = (): readonly string[] => receiver.posted.slice(1).map(({ payload }) => payload.text);
    expect(await hook({ text: "hello" }, { id: "m1" })).toEqual(TAKEN);
    await receiver.arrived(1);
    const [first] = receiver.posted;
    const code = /surety pair accept ([0-9A-Z]{8})\b/.exec(first?.payload.text ?? "")?.[1] ?? "";
    expect(first).toMatchObject({ isSigned: true, payload: { recipientId: "anna", recipientType: "contact" } });
    expect(await hook({ text: "hello" }, { id: "m1" })).toEqual(TAKEN);
    expect(await hook({ text: "hello again" })).toEqual(TAKEN);
    expect(await hook({ text: "hello" }, { signature: "v1,AAAA" })).toMatchObject({ status: 403 });
    const waiting = await surety("pair", "ls", "--json");
    const anna = { sender_id: "anna", sender_name: "Anna", code, state: "pending" };
    expect(JSON.parse(waiting.stdout).pairings).toMatchObject([anna]);
    expect(await surety("pair", "accept", code)).toMatchObject({ code: 0, stdout: "crm:anna: accepted\n" });
    expect(model.requests).toHaveLength(0);

    expect(await hook({ text: "now?" }, { id: "m2" })).toEqual(TAKEN);
    expect(await hook({ text: "now?" }, { id: "m2" })).toEqual(TAKEN);
    await stage.listed("/api/outbox?state=sent", "messages", ({ run_id }) => run_id !== null);
    expect(await hook({ text: "now?" }, { id: "m2" })).toEqual(TAKEN);
    expect(told()).toEqual(["Hello Anna."]);
    expect(model.requests).toHaveLength(1);

    await hook({ text: "and later?" });
    await model.arrival(1);
    await stage.gateway.kill();
    receiver.conduct = ({ payload }) => (payload.text === "Doubtful." ? "hang" : 200);
    await stage.start();
    await receiver.arrived(3);
    await stage.gateway.kill();
    receiver.conduct = () => 200;
    await stage.start();
    const { id } = await stage.listed("/api/outbox?state=ambiguous", "messages", () => true);
    expect(told()).toEqual(["Hello Anna.", "Doubtful."]);
    await stage.gateway.ask("POST", "/api/outbox", { id, decision: "retry" });
    await receiver.arrived(4);
    expect(receiver.posted[3]?.id).toBe(receiver.posted[2]?.id);
    await stage.listed("/api/outbox?state=sent", "messages", (row) => row["id"] === id);
    expect(told().slice(1)).toEqual(["Doubtful.", "Doubtful."]);
  },
  LIMIT_MS,
);
