import { connect, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGateway } from "../../../src/adapters/gateway/create-gateway.ts";
import { GatewayError } from "../../../src/adapters/gateway/gateway-error.ts";
import { bindOperations } from "../../../src/assistant/operations.ts";
import type { RunRecord } from "../../../src/kernel/journal/views/run-record.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryAssistant } from "./memory-assistant.ts";
import { AUTHORIZED, sendRaw, startGateway, TOKEN } from "./running-gateway.ts";
import { SILENT } from "./silent-conversations.ts";
import { IDENTITY } from "./test-identity.ts";

const gatewayWith = (assistant = new MemoryAssistant(), clock = new ManualClock()) =>
  createGateway({
    ...SILENT,
    operations: bindOperations(assistant.services),
    credentials: assistant.access,
    identity: IDENTITY,

    clock,
    onError: () => {},
  });

describe("listening", () => {
  test("a port in use is a typed error that says what to do", async () => {
    const gateway = await startGateway();
    const refused = gatewayWith().listen({ port: gateway.port });
    await expect(refused).rejects.toThrow(GatewayError);
    await expect(refused).rejects.toMatchObject({
      code: "gateway.port-in-use",
      message: `port ${gateway.port} on 127.0.0.1 is in use`,
      hint: expect.stringContaining("--port"),
    });
  });

  test("so is an address that is not this machine's", async () => {
    const refused = gatewayWith().listen({ host: "192.0.2.1", port: 0 });
    await expect(refused).rejects.toMatchObject({
      code: "gateway.address-unavailable",
      hint: expect.stringContaining("--host"),
    });
  });

  test("an IPv6 address stands in brackets in its url", async () => {
    const gateway = await startGateway({ host: "::1" });
    expect(gateway.url).toBe(`http://[::1]:${gateway.port}`);
    expect((await fetch(`${gateway.url}/v1/runs`, { headers: AUTHORIZED })).status).toBe(200);
  });
});

describe("what is not HTTP", () => {
  test.each([
    ["garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
    ["words", "hello there\r\n\r\n", 400],
    ["a bad version", "GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n", 400],
    ["a broken header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nno colon here\r\n\r\n", 400],
    ["a folded header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n", 400],
    ["a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n", 400],
    [
      "two lengths",
      "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
      400,
    ],
    [
      "a length and chunks",
      "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["a bad chunk", `POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`, 401],
    ["headers too large", `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(17_000)}\r\n\r\n`, 431],
    [
      "5000 headers",
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${Array.from({ length: 5000 }, (_, at) => `x${at}: 1\r\n`).join("")}\r\n`,
      431,
    ],
    ["a line too long", `GET /${"x".repeat(17_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
  ])("%s gets an answer in our error's shape, and harms nobody", async (_name, text, status) => {
    const gateway = await startGateway();
    const answer = await sendRaw(gateway.port, Buffer.from(text, "latin1"));
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\n\r\n\{"error":\{"code":"(invalid\.request|auth\.required)","message":"[^"]+"\}\}$/);
    expect((await gateway.ask("GET", "/healthz")).status).toBe(200);
    expect(gateway.errors).toEqual([]);
  });

  test("a body whose chunks are broken is 400", async () => {
    const gateway = await startGateway();
    const head = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const answer = await sendRaw(gateway.port, `POST /v1/runs HTTP/1.1\r\n${head}2\r\n{}\r\nZZ\r\n`);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400"]);
    expect(gateway.assistant.requests).toEqual([]);
  });

  test("garbage behind a whole request comes after its answer", async () => {
    const gateway = await startGateway();
    const head = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    const answer = await sendRaw(gateway.port, `GET /v1/runs HTTP/1.1\r\n${head}\x00garbage\r\n\r\n`);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
  });

  test("garbage into a stream ends it and does not get into it", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const socket = connect({ host: "127.0.0.1", port: gateway.port });
    const head = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    socket.write(`GET /v1/runs/${runId}/events HTTP/1.1\r\n${head}`);
    let answer = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      answer += chunk;
      if (answer.includes("run.created")) socket.write("\x00\x01garbage\r\n\r\n");
    });
    await new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
    while (gateway.assistant.watching > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test("connections that come and go without a word harm nobody", async () => {
    const gateway = await startGateway();
    for (let made = 0; made < 50; made += 1) {
      await new Promise<void>((resolve) => {
        const socket = connect({ host: "127.0.0.1", port: gateway.port }, () => {
          if (made % 2 === 0) socket.resetAndDestroy();
          else socket.destroy();
          resolve();
        });
      });
    }
    expect((await gateway.ask("GET", "/healthz")).status).toBe(200);
  });

  test("an upgrade is an ordinary request to it, CONNECT and TRACE come to nothing", async () => {
    const gateway = await startGateway();
    const head = "Host: localhost\r\nConnection: close";
    const upgrade = `GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`;
    expect(await sendRaw(gateway.port, upgrade)).toMatch(/^HTTP\/1\.1 401 /);
    expect(await sendRaw(gateway.port, `TRACE /healthz HTTP/1.1\r\n${head}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 405 /);
    expect(await sendRaw(gateway.port, `CONNECT evil.test:80 HTTP/1.1\r\n${head}\r\n\r\n`)).toBe("");
  });
});

describe("closing", () => {
  test("the port is free again, and closing twice is closing once", async () => {
    const gateway = await startGateway();
    await gateway.close(1000);
    await gateway.close(1000);
    const other = createServer();
    onTestFinished(() => {
      other.close();
    });
    await new Promise<void>((resolve, reject) => other.on("error", reject).listen(gateway.port, "127.0.0.1", resolve));
  });

  test("a request under way is answered, and its connection does not hold us up", async () => {
    const assistant = new Slow();
    const gateway = await startGateway({ assistant });
    const asked = gateway.ask("GET", "/v1/runs/run_1", { headers: { ...AUTHORIZED, connection: "keep-alive" } });
    await assistant.asked;
    const closed = gateway.close(60_000);
    assistant.answer();
    expect((await asked).status).toBe(404);
    await closed;
  });

  test("one that takes longer than the grace is cut off", async () => {
    const assistant = new Slow();
    const gateway = await startGateway({ assistant });
    const asked = gateway.ask("GET", "/v1/runs/run_1", { headers: AUTHORIZED });
    await assistant.asked;
    const closed = gateway.close(5_000);
    gateway.clock.advance(4_999);
    const outcome = expect(asked).rejects.toThrow("socket hang up");
    gateway.clock.advance(1);
    await closed;
    await outcome;
  });

  test("streams are told, and end", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const response = await fetch(`${gateway.url}/v1/runs/${runId}/events`, { headers: AUTHORIZED });
    const text = response.text();
    await gateway.close(60_000);
    expect((await text).endsWith(": stopping\n\n")).toBe(true);
    expect(gateway.assistant.watching).toBe(0);
  });

  test("idle connections end at once", async () => {
    const gateway = await startGateway();
    const response = await fetch(`${gateway.url}/healthz`);
    await response.text();
    await gateway.close(60_000);
  });
});

/** Answers one question when it is told to. */
class Slow extends MemoryAssistant {
  readonly asked: Promise<void>;
  #isAsked = (): void => {};
  readonly #answered: Promise<void>;
  #answer = (): void => {};

  constructor() {
    super();
    this.asked = new Promise((resolve) => {
      this.#isAsked = resolve;
    });
    this.#answered = new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  answer(): void {
    this.#answer();
  }

  override async run(): Promise<RunRecord | null> {
    this.#isAsked();
    await this.#answered;
    return null;
  }
}
