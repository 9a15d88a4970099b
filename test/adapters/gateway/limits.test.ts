/** What callers without a credential may hold and ask, and what a gateway that stops still takes. Real sockets. */
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { AUTHORIZED, errorOf, type RunningGateway, sendRaw, startGateway, TOKEN } from "./running-gateway.ts";

/** A connection that says what it is told to. */
async function hold(port: number) {
  const socket = connect({ host: "127.0.0.1", port });
  onTestFinished(() => {
    socket.destroy();
  });
  let received = "";
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    received += chunk;
  });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return { socket, closed, write: (text: string) => socket.write(text) };
}

/** The next answer on a connection that stays open. */
function answerOn(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const hear = (chunk: string): void => {
      text += chunk;
      if (!/\r\n\r\n.*[}\]]$/s.test(text)) return;
      socket.off("data", hear);
      resolve(text);
    };
    socket.on("data", hear);
  });
}

const HEAD = `Host: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const BODY = '{"agent_id":"main","message":"hello"}';

describe("callers without a credential", () => {
  test("hold so many connections; of more the oldest is closed, and never one that has proved itself", async () => {
    const { port, ask } = await startGateway();
    const proven = await hold(port);
    const first = answerOn(proven.socket);
    proven.write(`GET /v1/runs HTTP/1.1\r\n${HEAD}\r\n`);
    expect(await first).toContain("200 OK");
    const silent: Awaited<ReturnType<typeof hold>>[] = [];
    for (let count = 0; count < 256; count += 1) silent.push(await hold(port));
    const [oldest] = silent;
    // Asks for nothing that it has to prove itself for.
    expect((await ask("GET", "/healthz")).status).toBe(200);
    expect(await oldest?.closed).toBe("");
    expect((await ask("GET", "/v1/runs", { headers: AUTHORIZED })).status).toBe(200);
    const again = answerOn(proven.socket);
    proven.write(`GET /v1/runs HTTP/1.1\r\n${HEAD}\r\n`);
    expect(await again).toContain("200 OK");
  });

  test("keep nobody from a page, from the proof of identity, or from signing in", async () => {
    const page = {
      ...{ paths: ["/page"] as const, methods: ["GET"], scope: "public" as const },
      load: () => Promise.resolve(() => new Response("page")),
    };
    const { port, ask } = await startGateway({ mounts: [page] });
    const wrong = '{"code":"wrong"}';
    const identity = `/v1/identity?nonce=${"n".repeat(32)}`;
    const requests = [
      "GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
      `GET ${identity} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
      `POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${wrong.length}\r\n\r\n${wrong}`,
    ];
    const last = "GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    for (const request of requests)
      expect(await sendRaw(port, request.repeat(310) + last)).toContain("\r\n\r\n4\r\npage");
    expect((await ask("GET", identity)).status).toBe(200);
    const made = await ask("POST", "/api/login-links", { headers: AUTHORIZED, body: {} });
    const { code } = JSON.parse(made.text);
    expect((await ask("POST", "/api/login", { body: { code: "x".repeat(5_000) } })).status).toBe(413);
    expect((await ask("POST", "/api/login", { body: { code } })).status).toBe(200);
  });

  test("send so many messages of webhooks a second; those with a credential never wait", async () => {
    const { port, ask, clock } = await startGateway();
    const post = "POST /hooks/none HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n";
    const last = post.replace("Content-Length", "Connection: close\r\nContent-Length");
    const statuses = [...(await sendRaw(port, post.repeat(301) + last)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(
      ([, status]) => status,
    );
    expect(statuses).toHaveLength(302);
    expect(statuses.slice(0, 300)).not.toContain("429");
    expect(statuses.slice(300)).toEqual(["429", "429"]);
    const refused = await ask("POST", "/hooks/none", { body: {} });
    expect([refused.status, refused.headers["retry-after"], errorOf(refused).code]).toEqual([
      429,
      "1",
      "auth.rate_limited",
    ]);
    expect((await ask("GET", "/healthz")).status).toBe(200);
    expect((await ask("POST", "/v1/runs", { headers: AUTHORIZED, body: JSON.parse(BODY) })).status).toBe(202);
    clock.advance(1_000);
    expect((await ask("POST", "/hooks/none", { body: {} })).status).not.toBe(429);
  });
});

describe("a gateway that stops", () => {
  test("finishes what is under way, and takes nothing more that changes something", async () => {
    const { port, close, clock, assistant } = await startGateway();
    const [underWay, reading, late, health] = [await hold(port), await hold(port), await hold(port), await hold(port)];
    const length = `Content-Length: ${BODY.length}\r\n`;
    underWay.write(`POST /v1/runs HTTP/1.1\r\n${HEAD}${length}\r\n${BODY.slice(0, 9)}`);
    late.write("POST /v1/runs HTTP/1.1\r\n");
    reading.write("GET /v1/runs HTTP/1.1\r\n");
    health.write("GET /healthz HTTP/1.1\r\n");
    // Taken in their order: when this is answered, the others have begun.
    const { status } = await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { connection: "close" } });
    expect(status).toBe(200);
    const closed = close(2_000);
    late.write(`${HEAD}${length}\r\n${BODY}`);
    reading.write(`${HEAD}\r\n`);
    health.write(`${HEAD}\r\n`);
    underWay.write(BODY.slice(9));
    const refused = await late.closed;
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 2\r\n/is);
    expect(refused).toContain('"code":"gateway.stopping"');
    expect(await underWay.closed).toMatch(/^HTTP\/1\.1 202 /);
    expect(await reading.closed).toMatch(/^HTTP\/1\.1 200 /);
    expect(await health.closed).toMatch(/^HTTP\/1\.1 503 .*{"ok":false}$/is);
    await closed;
    clock.advance(0);
    expect(assistant.requests).toHaveLength(1);
  });
});

describe("streams under way", () => {
  const newToken = async ({ ask }: RunningGateway, name: string): Promise<string> => {
    const { text } = await ask("POST", "/api/tokens", { headers: AUTHORIZED, body: { name, scope: "operate" } });
    return JSON.parse(text).token;
  };

  const openTo = async ({ port }: RunningGateway, runId: string, token: string) => {
    const leave = new AbortController();
    onTestFinished(() => leave.abort());
    const response = await fetch(`http://127.0.0.1:${port}/v1/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${token}` },
      signal: leave.signal,
    });
    return { response, leave: () => leave.abort() };
  };

  test("are bounded for one credential and in all, and one that ends makes room", async () => {
    const gateway = await startGateway({ streamLimits: { ofOneCredential: 2, ofASender: 1, inAll: 3 } });
    const runId = await gateway.queueRun();
    const [first, second] = [await newToken(gateway, "first"), await newToken(gateway, "second")];
    const open = [await openTo(gateway, runId, TOKEN), await openTo(gateway, runId, TOKEN)];
    expect(open.map(({ response }) => response.status)).toEqual([200, 200]);
    const third = await openTo(gateway, runId, TOKEN);
    expect([third.response.status, await third.response.text()]).toEqual([429, expect.stringContaining("queue.full")]);
    expect((await openTo(gateway, runId, first)).response.status).toBe(200);
    expect((await openTo(gateway, runId, second)).response.status).toBe(429);
    open[0]?.leave();
    await vi.waitFor(async () => expect((await openTo(gateway, runId, second)).response.status).toBe(200));
  });
});
