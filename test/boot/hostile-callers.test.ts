/** Callers who hold a credential, or none, and want more than it is for: over real sockets, each gateway its own. */
import { expect, onTestFinished } from "vitest";
import { verifies } from "../requirements.ts";
import { openInterface } from "./interface-gateway.ts";
import { dial } from "./socket-stage.ts";

verifies(
  ["P-2.4", "O-5.7/sender"],
  "a token of a sender outside is no one at this machine, and has to wait as any sender, by whichever path",
  async () => {
    const opened = await openInterface({ gateway: { rateLimit: { perMinute: 2 } } });
    const { ask, ended, surety } = opened;
    const made = await ask("POST", "/api/tokens", { name: "phone", scope: "chat", owner: "telegram:7" });
    const outsider = { authorization: `Bearer ${made.json.token}` };
    const first = await ask("POST", "/v1/chat/messages", { user_id: "7", message: "hello" }, outsider);
    const send = (headers: Record<string, string>) =>
      ask("POST", `/api/sessions/${first.json.session_id}/send`, { text: "hello again" }, headers);
    const [second, tooFast, own] = [await send(outsider), await send(outsider), await send({})];
    expect([tooFast.status, tooFast.json.error.code]).toEqual([429, "chat.rate_limited"]);
    const classes = await Promise.all(
      [first, second, own].map(async ({ json }) => {
        await ended(json.id);
        const { contract = "" } = (await surety.store.findRun(json.id)) ?? {};
        return JSON.parse(contract).channel_class;
      }),
    );
    expect(classes).toEqual(["external_message", "external_message", "cli_local"]);
  },
);

verifies("O-6.2", "a message's id makes it one for its sender alone, and a sender holds so many streams", async () => {
  const { ask, url, cardOf } = await openInterface();
  const clientOf = async (owner: string) => {
    const { json } = await ask("POST", "/api/tokens", { name: owner, scope: "chat", owner });
    return { token: json.token, client: await dial(url.replace("http", "ws"), json.token) };
  };
  const [{ client: long }, { client: short, token }] = [await clientOf("web:a:b"), await clientOf("web:a")];
  const asking = [{ tool: "fs.write_text", path: "a.txt", text: "a" }];
  const say = async (client: typeof short, id: string) => {
    client.send({ id, type: "channel.message", timestamp: 1, payload: { text: JSON.stringify(asking) } });
    return (await client.untilType("session.resumed")).payload;
  };
  const [theirs, own] = [await say(long, "c"), await say(short, "b:c")];
  expect(own["sessionId"]).not.toBe(theirs["sessionId"]);

  const runId = String(own["runId"]);
  await cardOf(runId);
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const follow = async () => {
    const headers = { authorization: `Bearer ${token}` };
    return await fetch(`${url}/v1/runs/${runId}/events`, { headers, signal: leaving.signal });
  };
  // All of them are held: what nobody holds is closed.
  const streams: Response[] = [];
  for (let count = 0; count < 65; count += 1) streams.push(await follow());
  expect(streams.map(({ status }) => status)).toEqual([...Array(64).fill(200), 429]);
  expect((await ask("GET", "/v1/models")).status).toBe(200);
});
