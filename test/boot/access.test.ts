/** Who may come in, over real sockets: every operation with every scope, tokens, browsers, and the chat of one sender. */
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { HTTP_OPERATIONS } from "../../src/adapters/gateway/gateway-operations.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { hashBytes } from "../../src/kernel/vocabulary/hash.ts";
import { Access } from "../../src/runtime/access/access.ts";
import { SCOPES, scopesUpTo, takesBody } from "../../src/runtime/operations/operation.ts";
import { verifies } from "../requirements.ts";
import { openInterface } from "./interface-gateway.ts";
import { clientOf } from "./socket-stage.ts";

type Opened = Awaited<ReturnType<typeof openInterface>>;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function addToken({ ask }: Opened, terms: object): Promise<{ readonly id: string; readonly token: string }> {
  const { status, json } = await ask("POST", "/api/tokens", { name: "test", ...terms });
  expect(status).toBe(200);
  return json;
}

/** Its cookie, as a browser sends it from a page of the gateway. */
async function signIn({ ask, url }: Opened, userAgent = "Test/1.0") {
  const { json } = await ask("POST", "/api/login-links", {});
  const answered = await fetch(`${url}/api/login`, {
    method: "POST",
    headers: { "content-type": "application/json", "user-agent": userAgent },
    body: JSON.stringify({ code: json.code }),
  });
  expect(answered.status).toBe(200);
  const [cookie = ""] = (answered.headers.get("set-cookie") ?? "").split(";");
  return { cookie, code: json.code as string, origin: url, authorization: "" };
}

async function dialWith({ url }: Opened, token: string) {
  const socket = new WebSocket(url.replace("http", "ws"), ["surety", `surety.bearer.${token}`]);
  const client = clientOf(socket);
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  return client;
}

verifies(
  "O-6.2",
  "each operation asks for its scope: of no token, a wrong, an expired and a removed one it takes none",
  async () => {
    const opened = await openInterface();
    const { url } = opened;
    const [chat, operate, admin] = [
      await addToken(opened, { scope: "chat", owner: "web:anna" }),
      await addToken(opened, { scope: "operate" }),
      await addToken(opened, { scope: "admin" }),
    ];
    const removed = await addToken(opened, { scope: "admin" });
    await opened.ask("DELETE", `/api/tokens/${removed.id}`);
    const tokens = { public: "", chat: chat.token, operate: operate.token, admin: admin.token };
    const statusOf = async (method: string, path: string, token: string): Promise<number> => {
      const leaving = new AbortController();
      const answered = await fetch(`${url}${path.replaceAll(/\{\w+\}/g, "none")}`, {
        method,
        headers: { ...(token === "" ? {} : bearer(token)), "content-type": "application/json" },
        signal: leaving.signal,
        ...(takesBody(method as "GET") ? { body: '{"no":"such field"}' } : {}),
      });
      leaving.abort();
      return answered.status;
    };
    const mounted = opened.mounts.flatMap(({ paths, methods, scope }) =>
      methods.flatMap((method) => paths.map((path) => ({ method, path: path.replace("*", "none"), scope }))),
    );
    expect(mounted).toContainEqual({ method: "POST", path: "/v1/chat/completions", scope: "operate" });
    for (const { method, path, scope } of [...HTTP_OPERATIONS, ...mounted]) {
      for (const held of SCOPES) {
        const isEnough = scopesUpTo(held).has(scope);
        const refused = held === "public" ? 401 : 403;
        const status = await statusOf(method, path, tokens[held]);
        // A signed message that is not believed is refused too.
        if (path.startsWith("/hooks/")) continue;
        expect([method, path, held, status === refused]).toEqual([method, path, held, !isEnough]);
      }
    }
    for (const wrong of [removed.token, `${admin.token}x`, chat.token.toUpperCase()]) {
      expect(await statusOf("GET", "/v1/runs", wrong)).toBe(401);
    }
  },
);

verifies(
  "X-24/access",
  "a token is shown once, kept as a hash, rotated, and gone with all that it opened",
  async () => {
    const opened = await openInterface();
    const { ask, get, listen, surety } = opened;
    const made = await addToken(opened, { name: "ci <b>", scope: "operate", expires_in_s: 3600 });
    expect(made.token).toMatch(/^surety_[\w-]{43}$/);
    const rows = await surety.store.listTokens({ limit: 9, offset: 0 });
    expect(JSON.stringify([rows, await get("/api/tokens")])).not.toContain(made.token.slice(8, 20));
    const feed = await listen("/api/feed", bearer(made.token));
    await feed.next();
    const socket = await dialWith(opened, made.token);
    const { json: turned } = await ask("POST", `/api/tokens/${made.id}/rotate`, {});
    await expect(feed.until(() => false)).rejects.toThrow("the stream has ended");
    expect((await socket.closed).code).toBe(4401);
    expect((await ask("GET", "/v1/runs", undefined, bearer(made.token))).status).toBe(401);
    expect((await ask("GET", "/v1/runs", undefined, bearer(turned.token))).status).toBe(200);
    expect((await ask("DELETE", `/api/tokens/${made.id}`)).status).toBe(200);
    expect((await ask("GET", "/v1/runs", undefined, bearer(turned.token))).status).toBe(401);
    const ledger = await surety.store.readLedger(0, 100);
    expect(ledger.map(({ kind }) => kind).filter((kind) => kind.startsWith("token."))).toEqual([
      "token.created",
      "token.rotated",
      "token.revoked",
    ]);
  },
);

test("an expired token ends what it opened; after a restart what counts still counts, and a changed row does not", async () => {
  const opened = await openInterface();
  const { surety, listen, home } = opened;
  const { cookie } = await signIn(opened);
  const brief = await addToken(opened, { scope: "operate", expires_in_s: 1 });
  const lasting = await addToken(opened, { scope: "operate" });
  const feed = await listen("/api/feed", bearer(brief.token));
  await expect(feed.until(() => false)).rejects.toThrow("the stream has ended");
  expect((await opened.ask("GET", "/v1/runs", undefined, bearer(brief.token))).status).toBe(401);
  const { tokens } = await opened.get("/api/tokens");
  expect(tokens.map(({ state }: { readonly state: string }) => state)).toEqual(["active", "expired", "active"]);

  const grants = async () => {
    const parts = { store: surety.store, clock: systemClock, random: systemRandomness, token: "another-token-0123" };
    const again = new Access(parts);
    await again.load();
    again.close();
    const [lasts, expired] = [lasting, brief].map(({ token }) =>
      again.findToken(hashBytes(token))?.scopes.has("operate"),
    );
    return [lasts, expired, again.findBrowser(hashBytes(cookie.split("=")[1] ?? ""))?.principal];
  };
  expect(await grants()).toEqual([true, undefined, "operator"]);
  const db = new DatabaseSync(home.database);
  db.exec("UPDATE tokens SET scope = 'admin', expires_at_ms = NULL; UPDATE browsers SET expires_at_ms = 9e15");
  db.close();
  expect(await grants()).toEqual([undefined, undefined, undefined]);
});

test("a token makes none that may more or lasts longer than itself", async () => {
  const opened = await openInterface();
  const { ask } = opened;
  const brief = await addToken(opened, { scope: "admin", expires_in_s: 3600 });
  const make = async (terms: object) =>
    (await ask("POST", "/api/tokens", { name: "x", ...terms }, bearer(brief.token))).status;
  expect(await make({ scope: "admin" })).toBe(403);
  expect(await make({ scope: "operate", expires_in_s: 7200 })).toBe(403);
  expect(await make({ scope: "operate", expires_in_s: 60 })).toBe(200);
  expect(await make({ scope: "chat", expires_in_s: 60 })).toBe(400);
  expect(await make({ scope: "operate", owner: "web:anna", expires_in_s: 60 })).toBe(400);
  expect(
    (await ask("POST", `/api/tokens/${brief.id}/rotate`, { expires_in_s: 7200 }, bearer(brief.token))).status,
  ).toBe(403);
  // A browser would stay signed in.
  expect((await ask("POST", "/api/login-links", {}, bearer(brief.token))).status).toBe(403);
});

verifies("O-6.2", "a chat token speaks, hears and reads for its owner alone", async () => {
  const opened = await openInterface();
  const { ask, ended } = opened;
  const anna = bearer((await addToken(opened, { scope: "chat", owner: "web:anna" })).token);
  const say = (headers: Record<string, string>, body: object) => ask("POST", "/v1/chat/messages", body, headers);
  const other = (await say({}, { user_id: "bob", channel: "web", message: "hello" })).json;
  const room = (await say({}, { user_id: "bob", channel: "web", room_id: "anna", message: "hello" })).json;
  const own = (await say(anna, { user_id: "anna", message: "hello" })).json;
  await Promise.all([other, room, own].map(({ id }) => ended(id)));
  expect((await say(anna, { user_id: "bob", message: "hello" })).status).toBe(403);
  expect((await say(anna, { user_id: "anna", channel: "cli", message: "hello" })).status).toBe(403);
  expect((await say(anna, { user_id: "anna", room_id: "friends", message: "hello" })).status).toBe(403);

  expect((await say(anna, { user_id: "anna", message: "hello", model: "loop:m" })).status).toBe(403);
  const { sessions, total } = (await ask("GET", "/api/sessions", undefined, anna)).json;
  expect([sessions.map(({ id }: { readonly id: string }) => id), total]).toEqual([[own.session_id], 1]);
  const statuses = async (method: string, path: string, body?: object) =>
    await Promise.all(
      [own, other, room].map(async ({ id, session_id }) => {
        const at = path.replace("SESSION", session_id).replace("RUN", id);
        const leaving = new AbortController();
        const headers = { ...anna, "content-type": "application/json" };
        const request = {
          method,
          headers,
          signal: leaving.signal,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        };
        const { status } = await fetch(`${opened.url}${at}`, request);
        leaving.abort();
        return status;
      }),
    );
  expect(await statuses("GET", "/api/sessions/SESSION")).toEqual([200, 404, 404]);
  expect(await statuses("POST", "/api/sessions/SESSION/rename", { title: "x" })).toEqual([200, 404, 404]);
  expect(await statuses("POST", "/api/sessions/SESSION/send", { text: "/help" })).toEqual([200, 403, 403]);
  expect((await ask("POST", "/api/sessions/session_none/send", { text: "/help" }, anna)).status).toBe(403);
  expect(await statuses("GET", "/v1/runs/RUN")).toEqual([200, 404, 404]);
  expect(await statuses("GET", "/v1/runs/RUN/events")).toEqual([200, 404, 404]);
  expect(await statuses("POST", "/v1/runs/RUN/cancel")).toEqual([202, 404, 404]);
  expect((await say(anna, { user_id: "anna", message: "/approve appr_1" })).json.response).toContain(
    "Only the operator",
  );

  const socket = await dialWith(opened, anna.authorization.slice("Bearer ".length));
  socket.say("in a group", { senderId: "anna", isGroup: true, groupId: "friends" });
  socket.say("as bob", { senderId: "bob" });
  socket.say("as myself", { senderId: "anna" });
  await say({}, { user_id: "bob", channel: "web", room_id: "anna", message: "in a room of that name" });
  await socket.untilType("agent.response.end");
  const heard = socket.said.map(({ type, payload }) => (type === "error" ? payload["code"] : payload["sessionId"]));
  expect(heard.slice(0, 2)).toEqual(["auth.forbidden", "auth.forbidden"]);
  expect(new Set(heard.slice(2))).toEqual(new Set([own.session_id]));
});

test("a cookie counts for pages of this gateway only, and ends with its browser's session", async () => {
  const opened = await openInterface();
  const { ask, listen, surety, url } = opened;
  const browser = await signIn(opened, "<script>");
  const { cookie } = browser;
  const status = async (method: string, path: string, headers: Record<string, string>) =>
    (
      await fetch(`${url}${path}`, {
        method,
        headers: { cookie, "content-type": "application/json", ...headers },
        ...(method === "GET" ? {} : { body: "{}" }),
      })
    ).status;
  expect(await status("GET", "/v1/runs", {})).toBe(200);
  expect(await status("POST", "/api/login-links", { origin: url })).toBe(200);
  expect(await status("POST", "/api/login-links", { "sec-fetch-site": "same-origin" })).toBe(200);
  for (const foreign of [{}, { origin: "http://127.0.0.1:1" }, { origin: "null" }, { "sec-fetch-site": "same-site" }]) {
    expect([foreign, await status("POST", "/api/login-links", foreign as Record<string, string>)]).toEqual([
      foreign,
      403,
    ]);
  }
  expect(await status("GET", "/v1/runs", { "sec-fetch-site": "cross-site" })).toBe(403);
  expect(await status("GET", "/v1/runs", { "sec-fetch-site": "same-site" })).toBe(403);
  // A secret of one sort is none of the other.
  expect((await ask("GET", "/v1/runs", undefined, bearer(cookie.split("=")[1] ?? ""))).status).toBe(401);

  const feed = await listen("/api/feed", { cookie, authorization: "" }).catch(() => null);
  expect(feed?.status).toBe(401);
  const { browser_sessions } = (await ask("GET", "/api/browser-sessions")).json;
  expect(browser_sessions).toMatchObject([{ is_this: false, user_agent: "<script>" }]);
  const own = await fetch(`${url}/api/browser-sessions`, { headers: { cookie } }).then((answered) => answered.json());
  expect(own).toMatchObject({ browser_sessions: [{ is_this: true }] });
  const streaming = await fetch(`${url}/api/feed`, { headers: { cookie } });
  const done = streaming.text();
  expect((await ask("DELETE", `/api/browser-sessions/${browser_sessions[0].id}`)).status).toBe(200);
  expect(await done).toContain("event: ready");
  const over = await fetch(`${url}/v1/runs`, { headers: { cookie } });
  expect([over.status, over.headers.get("set-cookie")]).toEqual([401, expect.stringContaining("Max-Age=0")]);
  const kinds = (await surety.store.readLedger(0, 100)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith("browser."))).toEqual(["browser.signed_in", "browser.signed_out"]);
});

test("ten wrong login codes slow their address down; the right one passes, and who is in stays in", async () => {
  const opened = await openInterface();
  const { ask, url } = opened;
  const { cookie } = await signIn(opened);
  const tryCode = async (code: string) => {
    const headers = { "content-type": "application/json" };
    const answered = await fetch(`${url}/api/login`, { method: "POST", headers, body: JSON.stringify({ code }) });
    return answered.status;
  };
  const statuses: number[] = [];
  for (let at = 0; at < 11; at += 1) statuses.push(await tryCode("x".repeat(24)));
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
  expect((await fetch(`${url}/v1/runs`, { headers: { cookie: `${cookie}x` } })).status).toBe(429);
  expect((await fetch(`${url}/v1/runs`, { headers: { cookie } })).status).toBe(200);
  const { json } = await ask("POST", "/api/login-links", {});
  expect(await tryCode(json.code)).toBe(200);
  expect(await tryCode(json.code)).toBe(429);
});
