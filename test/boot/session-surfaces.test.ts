/** Sessions over HTTP, on a home of their own: hostile names, pages, counts, and whose settings a run has. */
import { readdir, readFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { createGateway } from "../../src/adapters/gateway/create-gateway.ts";
import { sessionFileName } from "../../src/assistant/sessions/session-file.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { asRunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { IDENTITY } from "../adapters/gateway/test-identity.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

const TOKEN = "correct-horse-battery-staple";

async function openSessions() {
  const server = await startOpenAiServer(({ body }) => {
    const said = String(body.messages.findLast(({ role }) => role === "user")?.["content"]);
    return answer({ text: `heard ${said}` });
  });
  onTestFinished(() => server.close());
  const model = { contextWindow: 32_768, maxOutputTokens: 1024 };
  const providers = { local: { baseUrl: server.baseUrl, local: true, models: { m: model, other: model } } };
  const config = readOk(JSON.stringify({ models: { default: "local:m", providers } }));
  const home = await temporaryHome();
  await openHome(home);
  const defects: unknown[] = [];
  const surety = await openSurety({
    ...{ home, config, clock: systemClock, random: systemRandomness, token: TOKEN, approver: noApprover },
    readVariable: () => undefined,
    onDefect: (_id, error) => defects.push(error),
  });
  onTestFinished(() => surety.close(1000));
  const gateway = createGateway({
    ...{
      operations: surety.operations,
      conversations: surety.conversations,
      random: systemRandomness,
      credentials: surety.access,
      identity: IDENTITY,

      clock: systemClock,
    },
    onError: (error) => defects.push(error),
  });
  const { port, close } = await gateway.listen({ port: 0 });
  onTestFinished(() => close(0));
  const ask = async (method: string, path: string, body?: object) => {
    const answered = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = JSON.parse(await answered.text());
    return { status: answered.status, json };
  };
  const ended = async (id: string): Promise<void> => {
    const news = (await surety.assistant.watch(asRunId(id), 0, new AbortController().signal)) ?? [];
    for await (const _ of news) {
      // To its end.
    }
  };
  const say = (message: string, also: object = {}) =>
    ask("POST", "/v1/chat/messages", { user_id: "42", message, ...also });
  /** The session's row, once the answer is there. */
  const talk = async (message: string, also: object = {}) => {
    const { status, json } = await say(message, also);
    if (status !== 202) throw new Error(JSON.stringify(json));
    await ended(json.id);
    return (await ask("GET", `/api/sessions/${json.session_id}`)).json;
  };
  return { home, surety, ended, defects, ask, say, talk, requests: server.requests };
}

interface Attack {
  readonly class: string;
  readonly name: string;
  readonly input: unknown;
}

async function attack(name: string): Promise<unknown> {
  const all: readonly Attack[] = JSON.parse(await readFile("test/fixtures/adversarial.json", "utf8"));
  const found = all.find((each) => each.class === "session_key" && each.name === name);
  if (found === undefined) throw new Error(`no such attack: ${name}`);
  return found.input;
}

/** `cross_session_send` is driven in access.test.ts, with a token of one sender. */
test("the class session_key has the attacks that this file tries, and one more", async () => {
  const all: readonly Attack[] = JSON.parse(await readFile("test/fixtures/adversarial.json", "utf8"));
  expect(all.filter((each) => each.class === "session_key").map(({ name }) => name)).toEqual([
    ...["agent_traversal", "case_collision", "client_supplied_session_id", "colon_injection"],
    ...["cross_channel_sender_clash", "cross_session_send", "too_long", "unicode_nfc_nfd"],
  ]);
});

verifies("P-5.1", "hostile names of agents, sessions and senders are refused, and leave nothing behind", async () => {
  const { home, ask, say, defects } = await openSessions();
  const { agentId } = (await attack("agent_traversal")) as { readonly agentId: string };
  for (const id of [agentId, "Main", "a/b", "-a", "", "a".repeat(65), "a b", "ä", ".", "main\n"]) {
    expect([id, (await say("hi", { agent_id: id })).status]).toEqual([id, 400]);
    expect([id, (await ask("POST", "/api/sessions", { agent_id: id })).status]).toEqual([id, 400]);
    expect([400, 404]).toContain((await ask("POST", "/v1/runs", { agent_id: id, message: "hi" })).status);
  }
  const { http } = (await attack("client_supplied_session_id")) as { readonly http: string };
  const [method = "", path = ""] = http.split(" ");
  for (const each of [
    path,
    "/api/sessions/..%2fx",
    "/api/sessions/%00",
    "/api/sessions/a%20b",
    "/api/sessions/no_such",
  ]) {
    expect([each, (await ask(method, each)).status]).toEqual([each, 404]);
    expect([each, (await ask("POST", `${each}/send`, { text: "hi" })).status]).toEqual([each, 404]);
  }
  expect((await ask("POST", "/v1/runs", { agent_id: "main", message: "hi", session_id: "../x" })).status).not.toBe(202);
  const { peerId } = (await attack("too_long")) as { readonly peerId: { readonly $gen: string } };
  expect(peerId.$gen).toBe("'a' x 5000");
  for (const id of ["a".repeat(5000), "", " ", "a\u0000b", "a\nb"]) {
    expect([id, (await say("hi", { user_id: id })).status]).toEqual([id, 400]);
    expect([id, (await say("hi", { room_id: id })).status]).toEqual([id, 400]);
  }
  expect((await ask("GET", "/api/sessions")).json).toEqual({ sessions: [], total: 0 });
  expect((await readdir(home.agentsDirectory)).filter((name) => !name.startsWith("."))).toEqual([]);
  expect(defects).toEqual([]);
});

verifies(
  "P-5.1",
  "different senders never share a session or a file; one sender has one, however it is composed",
  async () => {
    const { talk } = await openSessions();
    const collided = (await attack("case_collision")) as readonly { readonly peerId: string }[];
    const colon = (await attack("colon_injection")) as { readonly peerId: string };
    const clashing = (await attack("cross_channel_sender_clash")) as readonly { channel: string; senderId: string }[];
    const composed = (await attack("unicode_nfc_nfd")) as readonly { readonly peerId: string }[];
    const apart = [
      ...collided.map(({ peerId }) => ({ user_id: peerId })),
      ...[colon.peerId, "2", "3", "2%3Adm%3A3"].map((user_id) => ({ user_id })),
      ...clashing.map(({ channel, senderId }) => ({ user_id: senderId, channel })),
    ];
    const sessions: { readonly id: string; readonly key: string }[] = [];
    for (const sender of apart) sessions.push(await talk("hello", sender));
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(apart.length);
    const files = sessions.map(({ key }) => sessionFileName(key, true).toLowerCase());
    expect(new Set(files).size).toBe(apart.length);
    expect(sessions[2]?.key).toBe("agent:main:http:default:dm:2%3Adm%3A3");
    const [one, other] = [
      await talk("hello", { user_id: composed[0]?.peerId }),
      await talk("hello", { user_id: composed[1]?.peerId }),
    ];
    expect(one.id).toBe(other.id);
  },
);

test("messages are counted when they were said, and read page by page to the first", async () => {
  const { talk, ask, surety } = await openSessions();
  for (const text of ["one", "two", "three", "four", "five"]) await talk(text);
  const whole = await talk("six");
  expect(whole.metadata.messageCount).toBe(12);
  expect(whole.messages).toHaveLength(12);
  for (const path of [`/api/sessions/${whole.id}`, `/api/admin/chat/sessions/${whole.id}/messages`]) {
    const said: string[] = [];
    for (let before = ""; ; ) {
      const { status, json } = await ask("GET", `${path}?limit=2${before}`);
      expect(status).toBe(200);
      if (json.messages.length === 0) break;
      expect(json.messages.length).toBeLessThanOrEqual(4);
      said.unshift(...json.messages.map(({ content }: { content: string }) => content));
      before = `&before=${json.messages[0].id}`;
    }
    expect(said).toEqual(whole.messages.map(({ content }: { content: string }) => content));
    const stranger = (await talk("hello", { user_id: "43" })).messages[0].id;
    for (const id of [stranger, "run_none_user", `${whole.id}_imported_1x`]) {
      expect((await ask("GET", `${path}?before=${id}`)).status).toBe(404);
    }
    for (const query of ["limit=0", "limit=501", "limit=x", "before=", "before=..%2f", "offset=1"]) {
      expect([query, (await ask("GET", `${path}?${query}`)).status]).toEqual([query, 400]);
    }
  }
  expect((await surety.store.findSession(whole.id))?.openRuns).toBe(0);
});

test("a run has the request's settings, else the session's, else the agent's", async () => {
  const { talk, say, ask, ended, requests } = await openSessions();
  const { id: session_id } = await talk("hello");
  expect((await say("/model local:other")).status).toBe(200);
  const modelOf = async (also: object) => {
    const { json } = await ask("POST", "/v1/runs", { agent_id: "main", message: "hi", session_id, ...also });
    await ended(json.id);
    return requests.at(-1)?.body.model;
  };
  expect(await modelOf({})).toBe("other");
  expect(await modelOf({ model: "local:m" })).toBe("m");
  expect(await modelOf({ session_id: undefined })).toBe("m");
  await talk("and now?");
  expect(requests.at(-1)?.body.model).toBe("other");
});

verifies(
  "X-13",
  "a message_id is its sender's, in its room: the same text is the same run, another text is a conflict",
  async () => {
    const { say, ended, requests } = await openSessions();
    const first = await say("hi", { message_id: "m1" });
    expect(first.status).toBe(202);
    await ended(first.json.id);
    expect((await say("hi", { message_id: "m1" })).json).toMatchObject({
      id: first.json.id,
      session_id: first.json.session_id,
    });
    for (const another of ["hello", "/status", "/new"]) {
      const refused = await say(another, { message_id: "m1" });
      expect([another, refused.status, refused.json.error.code]).toEqual([another, 409, "conflict"]);
      expect(refused.json.error.message).toContain("message_id");
    }
    const others = [
      { user_id: "43" },
      { room_id: "r" },
      { room_id: "r", user_id: "43" },
      { channel: "web" },
      { room_id: "42" },
    ];
    const ids = [first.json.id];
    for (const also of others) {
      const other = await say("hi", { message_id: "m1", ...also });
      expect([also, other.status]).toEqual([also, 202]);
      await ended(other.json.id);
      ids.push(other.json.id);
    }
    expect(new Set(ids).size).toBe(ids.length);
    const twins = await Promise.all(["m2", "m2"].map((message_id) => say("at once", { message_id })));
    expect(twins[0]?.json.id).toBe(twins[1]?.json.id);
    await ended(twins[0]?.json.id);
    expect(requests).toHaveLength(ids.length + 1);
  },
);

verifies(
  ["O-5.6/accepted", "O-5.6/commands", "O-5.7/refused"],
  "a message is accepted with its session, commands are answered at once, and who writes too fast is told when to retry",
  async () => {
    const { ended, say, requests } = await openSessions();
    const { status, json } = await say("hello");
    expect([status, json]).toEqual([202, expect.objectContaining({ session_id: expect.stringMatching(/^session_/) })]);
    await ended(json.id);
    const asked = requests.length;
    for (const command of ["/help", "/status", "/stop", "/model", "/new trip", "/resume", "/bogus"]) {
      const answered = await say(command);
      expect([command, answered.status, typeof answered.json.response]).toEqual([command, 200, "string"]);
    }
    expect(requests).toHaveLength(asked);
    const answers: (typeof json)[] = [];
    for (let more = 0; more < 20; more += 1) answers.push(await say("/help"));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const each of refused) {
      expect(each.json.error).toMatchObject({ code: "chat.rate_limited", retry_after_seconds: expect.any(Number) });
    }
    expect((await say("/help", { user_id: "43" })).status).toBe(200);
  },
);
