import { hash } from "node:crypto";
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { verifies } from "../../requirements.ts";
import { MemoryAssistant, PLAN_HASH } from "./memory-assistant.ts";
import { AUTHORIZED, errorOf, sendRaw, startGateway, TOKEN } from "./running-gateway.ts";

const GUARDED = [
  ["POST", "/v1/runs", { agent_id: "main", message: "hello" }],
  ["GET", "/v1/runs", undefined],
  ["HEAD", "/v1/runs", undefined],
  ["GET", "/v1/runs/run_1", undefined],
  ["GET", "/v1/runs/run_1/events", undefined],
  ["GET", "/v1/runs/run_1/bundle", undefined],
  ["POST", "/v1/runs/run_1/cancel", undefined],
  ["GET", "/api/approvals", undefined],
  ["POST", "/api/approvals/apr_1", { decision: "allow", plan_hash: PLAN_HASH }],
  ["POST", "/", undefined],
  ["GET", "/nowhere", undefined],
  ["DELETE", "/v1/runs", undefined],
  ["OPTIONS", "/v1/runs", undefined],
  ["GET", "/healthz/../v1/runs", undefined],
  ["GET", "/healthz/", undefined],
  ["GET", `/v1/runs?token=${TOKEN}`, undefined],
  ["GET", `/v1/runs?access_token=${TOKEN}`, undefined],
] as const;

describe("the token", () => {
  verifies(
    ["O-5.1/bind", "O-5.1/token"],
    "it binds 127.0.0.1 unless told otherwise, and asks everybody for the token",
    async () => {
      const gateway = await startGateway();
      expect(gateway.url).toBe(`http://127.0.0.1:${gateway.port}`);
      const outside = Object.values(networkInterfaces())
        .flat()
        .find((address) => address?.family === "IPv4" && !address.internal);
      if (outside !== undefined) {
        await expect(fetch(`http://${outside.address}:${gateway.port}/healthz`)).rejects.toThrow();
      }
      for (const [method, path, body] of GUARDED) {
        const answer = await gateway.ask(method, path, { body });
        expect([path, answer.status]).toEqual([path, 401]);
        expect(answer.headers["www-authenticate"]).toMatch(/^Bearer realm="surety"/);
        if (method !== "HEAD") expect(errorOf(answer).code).toBe("auth.required");
      }
      expect(gateway.assistant.requests).toEqual([]);
      expect((await gateway.ask("GET", "/v1/runs", { headers: AUTHORIZED })).status).toBe(200);
    },
  );

  verifies("O-5.1/token", "health alone needs no token", async () => {
    const gateway = await startGateway();
    expect((await gateway.ask("GET", "/healthz")).status).toBe(200);
    expect((await gateway.ask("GET", "/api/health")).status).toBe(200);
  });

  test.each([
    `Bearer ${TOKEN.slice(0, -1)}`,
    `Bearer ${TOKEN}x`,
    `Bearer  ${TOKEN}`,
    `Bearer ${TOKEN.toUpperCase()}`,
    `Basic ${TOKEN}`,
    `Basic ${Buffer.from(`:${TOKEN}`).toString("base64")}`,
    `Bearer${TOKEN}`,
    "Bearer ",
    "Bearer",
    TOKEN,
    `Bearer ${TOKEN}, Bearer ${TOKEN}`,
  ])("%j does not open the door", async (authorization) => {
    const gateway = await startGateway();
    const answer = await gateway.ask("GET", "/v1/runs", { headers: { authorization } });
    expect([answer.status, errorOf(answer).code]).toEqual([401, "auth.required"]);
    expect(answer.text).not.toContain(TOKEN);
  });

  test.each([1, 43, 62, 63, 64, 65, 128, 512])(
    "one of %i characters opens it; one that is nearly the same does not, not even just after it",
    async (length) => {
      const token = "aB3-".repeat(length).slice(0, length);
      const gateway = await startGateway({ assistant: new MemoryAssistant(token) });
      const statusOf = async (candidate: string): Promise<number> => {
        const headers = { authorization: `Bearer ${candidate}` };
        return (await gateway.ask("GET", "/v1/runs", { headers })).status;
      };
      const nearly = [
        token.slice(0, -1),
        token.slice(1),
        `${token.slice(0, -1)}x`,
        `x${token.slice(1)}`,
        `${token}a`,
        `${token}\xff`,
        `${token.slice(0, -1)}\xff`,
        token + token,
        hash("sha256", token),
      ];
      for (const candidate of nearly) {
        expect(await statusOf(token)).toBe(200);
        expect([candidate, await statusOf(candidate)]).toEqual([candidate, 401]);
      }
    },
  );

  test("a token of any length is refused", async () => {
    const gateway = await startGateway();
    const authorization = `Bearer ${TOKEN.repeat(200)}`;
    expect((await gateway.ask("GET", "/v1/runs", { headers: { authorization } })).status).toBe(401);
  });

  test("the scheme's case does not matter", async () => {
    const gateway = await startGateway();
    const answer = await gateway.ask("GET", "/v1/runs", { headers: { authorization: `bEARER ${TOKEN}` } });
    expect(answer.status).toBe(200);
  });

  test.each(["authorization", "host", "origin", "content-type", "idempotency-key", "last-event-id"])(
    "the header %s twice is refused, whichever of the two is right",
    async (name) => {
      const gateway = await startGateway();
      const host = `127.0.0.1:${gateway.port}`;
      const right: Readonly<Record<string, string>> = {
        host,
        authorization: `Bearer ${TOKEN}`,
        origin: `http://${host}`,
        "content-type": "application/json",
        "idempotency-key": "k",
        "last-event-id": "1",
      };
      for (const values of [
        [right[name], "wrong"],
        ["wrong", right[name]],
      ]) {
        const others = Object.entries(right).filter(([other]) => other !== name);
        const lines = [...others, ...values.map((value) => [name.toUpperCase(), value])];
        const head = lines.map(([key, value]) => `${key}: ${value}`).join("\r\n");
        const answer = await sendRaw(gateway.port, `GET /v1/runs HTTP/1.1\r\nConnection: close\r\n${head}\r\n\r\n`);
        expect(answer).toMatch(/^HTTP\/1\.1 400 /);
        expect(answer).toContain('"code":"invalid.request"');
      }
    },
  );

  test("a proxy's word about where a caller sits changes nothing", async () => {
    const gateway = await startGateway();
    const headers = { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", forwarded: "for=127.0.0.1" };
    expect((await gateway.ask("GET", "/v1/runs", { headers })).status).toBe(401);
  });

  test("bound to every address it still asks for the token, also by that address's own name", async () => {
    const gateway = await startGateway({ host: "0.0.0.0" });
    const host = `127.0.0.1:${gateway.port}`;
    expect((await gateway.ask("GET", "/v1/runs", { headers: { host } })).status).toBe(401);
    expect((await gateway.ask("GET", "/v1/runs", { headers: { ...AUTHORIZED, host } })).status).toBe(200);
  });

  test("there is no gateway without a token", () => {
    expect(() => new MemoryAssistant("")).toThrow("empty token");
  });
});

describe("Host", () => {
  test.each([
    "127.0.0.1",
    "localhost",
    "LocalHost",
    "[::1]",
    "127.0.0.1:PORT",
    "localhost:PORT",
    "[::1]:PORT",
    "localhost:8080",
  ])("%s is ours", async (name) => {
    const gateway = await startGateway();
    const host = name.replace("PORT", String(gateway.port));
    expect((await gateway.ask("GET", "/v1/runs", { headers: { ...AUTHORIZED, host } })).status).toBe(200);
  });

  test.each([
    "evil.test",
    "evil.test:PORT",
    "localhost.evil.test:PORT",
    "127.0.0.1.evil.test",
    "127.0.0.1@evil.test",
    "evil.test#127.0.0.1",
    "localhost.",
    "0.0.0.0:PORT",
    "10.0.0.1:PORT",
    "[::]:PORT",
    "2130706433",
    "localhost:PORT:PORT",
    "localhost:",
  ])("%j is not, token or no token, not even for health", async (name) => {
    const gateway = await startGateway();
    const host = name.replaceAll("PORT", String(gateway.port));
    for (const path of ["/v1/runs", "/healthz"]) {
      const answer = await gateway.ask("GET", path, { headers: { ...AUTHORIZED, host } });
      expect([answer.status, errorOf(answer).code]).toEqual([403, "auth.forbidden"]);
    }
  });

  test("one that is not ours stays out after one that is", async () => {
    const gateway = await startGateway();
    const statusOf = async (host: string): Promise<number> =>
      (await gateway.ask("GET", "/v1/runs", { headers: { ...AUTHORIZED, host } })).status;
    expect([await statusOf("localhost"), await statusOf("evil.test"), await statusOf("localhost")]).toEqual([
      200, 403, 200,
    ]);
    expect(await statusOf("evil.test")).toBe(403);
  });

  test("the host it was told to listen on is ours", async () => {
    const gateway = await startGateway({ host: "localhost" });
    const answer = await fetch(`${gateway.url}/v1/runs`, { headers: AUTHORIZED });
    expect(answer.status).toBe(200);
  });

  test("none at all is 400, an empty one 403", async () => {
    const gateway = await startGateway();
    const missing = await sendRaw(gateway.port, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
    expect(missing).toMatch(/^HTTP\/1\.1 400 /);
    expect(missing).toContain('{"error":{"code":"invalid.request"');
    const empty = await sendRaw(gateway.port, "GET /healthz HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n");
    expect(empty).toMatch(/^HTTP\/1\.1 403 /);
  });

  test("an address that was really dialled is ours, whatever it is", async () => {
    const gateway = await startGateway({ host: "0.0.0.0" });
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.family === "IPv4" && !address.internal);
    const address = outside?.address ?? "127.0.0.2";
    const answer = await fetch(`http://${address}:${gateway.port}/v1/runs`, { headers: AUTHORIZED });
    expect(answer.status).toBe(200);
  });
});

describe("Origin", () => {
  const SITE = "https://ui.example.org";

  test.each(["http://HOST", "https://HOST"])("our own (%s) comes in", async (name) => {
    const gateway = await startGateway();
    const origin = name.replace("HOST", `127.0.0.1:${gateway.port}`);
    const answer = await gateway.ask("GET", "/v1/runs", { headers: { ...AUTHORIZED, origin } });
    expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([200, undefined]);
  });

  test.each([
    "https://evil.test",
    "null",
    "",
    "http://127.0.0.1:1",
    "http://127.0.0.1",
    `${SITE}.evil.test`,
    `${SITE}:8443`,
    "http://ui.example.org",
  ])("%j does not, token or no token", async (origin) => {
    const gateway = await startGateway({ sites: () => ({ allowedHosts: [], allowedOrigins: [SITE] }) });
    for (const headers of [{ origin }, { ...AUTHORIZED, origin }]) {
      const answer = await gateway.ask("GET", "/v1/runs", { headers });
      expect([answer.status, errorOf(answer).code]).toEqual([403, "auth.forbidden"]);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  test("a site the operator named comes in with the token, and may read the answer", async () => {
    const gateway = await startGateway({ sites: () => ({ allowedHosts: [], allowedOrigins: [SITE] }) });
    const answer = await gateway.ask("GET", "/v1/runs", { headers: { ...AUTHORIZED, origin: SITE } });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ "access-control-allow-origin": SITE, vary: "Origin" });
    const refused = await gateway.ask("GET", "/v1/runs", { headers: { origin: SITE } });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([401, SITE]);
  });

  test("its browser may ask beforehand; nobody else's", async () => {
    const gateway = await startGateway({ sites: () => ({ allowedHosts: [], allowedOrigins: [SITE] }) });
    const preflight = (origin: string) =>
      gateway.ask("OPTIONS", "/v1/runs", { headers: { origin, "access-control-request-method": "POST" } });
    const answer = await preflight(SITE);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": SITE,
      "access-control-allow-headers":
        "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID",
    });
    expect((await preflight("https://evil.test")).status).toBe(403);
    expect((await gateway.ask("OPTIONS", "/v1/runs", { headers: { origin: SITE } })).status).toBe(401);
  });
});
