import { type ClientRequest, request } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { MAX_BODY_BYTES } from "../../../src/adapters/gateway/read-body.ts";
import { AUTHORIZED, errorOf, type RunningGateway, sendRaw, startGateway, TOKEN } from "./running-gateway.ts";

const PREFIX = '{"agent_id":"main","message":"';
const SUFFIX = '"}';

function bodyOf(bytes: number): string {
  return PREFIX + "x".repeat(bytes - PREFIX.length - SUFFIX.length) + SUFFIX;
}

const postBytes = (gateway: RunningGateway, bytes: Uint8Array, headers: Readonly<Record<string, string>> = {}) =>
  gateway.ask("POST", "/v1/runs", { headers: { ...AUTHORIZED, ...headers }, bytes });

function headOf(gateway: RunningGateway, ...lines: readonly string[]): string {
  const common = [`Host: 127.0.0.1:${gateway.port}`, `Authorization: Bearer ${TOKEN}`];
  return ["POST /v1/runs HTTP/1.1", ...common, ...lines, "", ""].join("\r\n");
}

describe("the size of a body", () => {
  test("1 MiB is taken, one byte more is 413", async () => {
    const gateway = await startGateway();
    expect((await postBytes(gateway, Buffer.from(bodyOf(MAX_BODY_BYTES)))).status).toBe(202);
    const answer = await postBytes(gateway, Buffer.from(bodyOf(MAX_BODY_BYTES + 1)));
    expect([answer.status, errorOf(answer).code]).toEqual([413, "payload.too_large"]);
    expect(gateway.assistant.requests).toHaveLength(1);
  });

  test("bytes are counted, not characters", async () => {
    const gateway = await startGateway();
    const body = `${PREFIX}${"ü".repeat(MAX_BODY_BYTES / 2)}${SUFFIX}`;
    expect((await postBytes(gateway, Buffer.from(body))).status).toBe(413);
  });

  test("without a Content-Length it is counted as it comes, and refused on the way", async () => {
    const gateway = await startGateway();
    const { status, sent } = await pour(gateway, 64 * MAX_BODY_BYTES);
    expect(status).toBe(413);
    expect(sent).toBeLessThan(64 * MAX_BODY_BYTES);
    expect(gateway.assistant.requests).toEqual([]);
  });

  test("many small chunks are one body", async () => {
    const gateway = await startGateway();
    const chunks = [...bodyOf(20_000)].map((byte) => `1\r\n${byte}\r\n`).join("");
    const head = headOf(gateway, "Transfer-Encoding: chunked", "Connection: close");
    expect(await sendRaw(gateway.port, `${head}${chunks}0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 202 /);
    expect(gateway.assistant.requests[0]?.message).toHaveLength(20_000 - PREFIX.length - SUFFIX.length);
  });

  test("a Content-Length that claims too much is refused before the body is sent", async () => {
    const gateway = await startGateway();
    const head = headOf(gateway, `Content-Length: ${MAX_BODY_BYTES + 1}`, "Connection: close");
    expect(await sendRaw(gateway.port, head)).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("none at all is no JSON, and the connection goes on", async () => {
    const gateway = await startGateway();
    const answers = await sendRaw(gateway.port, headOf(gateway) + headOf(gateway, "Connection: close"));
    expect(answers.match(/HTTP\/1\.1 400 /g)).toHaveLength(2);
    expect(answers.match(/the body is not valid JSON/g)).toHaveLength(2);
  });

  test("a head that is refused unread leaves the connection in order", async () => {
    const gateway = await startGateway();
    const twice = headOf(gateway, "Origin: http://a.test", "Origin: http://b.test");
    const answers = await sendRaw(gateway.port, twice + headOf(gateway, "Connection: close"));
    expect(answers).toMatch(/Duplicate header origin.*the body is not valid JSON/s);
  });

  test("one that claims too little ends the body there", async () => {
    const gateway = await startGateway();
    const head = headOf(gateway, "Content-Length: 10", "Connection: close");
    expect(await sendRaw(gateway.port, head + bodyOf(100))).toMatch(/^HTTP\/1\.1 400 /);
    expect(gateway.assistant.requests).toEqual([]);
  });

  test("a body that breaks off is no request", async () => {
    const gateway = await startGateway();
    const socket = connect({ host: "127.0.0.1", port: gateway.port });
    socket.write(headOf(gateway, "Content-Length: 100") + bodyOf(60));
    socket.end();
    await new Promise((resolve) => socket.on("close", resolve).resume());
    expect((await gateway.ask("GET", "/healthz")).status).toBe(200);
    expect([gateway.assistant.requests, gateway.errors]).toEqual([[], []]);
  });

  test("who has no token gets 401 however much they send, and the connection stays usable", async () => {
    const gateway = await startGateway();
    const host = `Host: 127.0.0.1:${gateway.port}`;
    const post = `POST /v1/runs HTTP/1.1\r\n${host}\r\nContent-Length: 3000000\r\n\r\n${"x".repeat(3_000_000)}`;
    const answers = await sendRaw(gateway.port, `${post}GET /healthz HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
  });
});

describe("a body nobody asked for", () => {
  test("is thrown away for a while, then the connection ends", async () => {
    const gateway = await startGateway();
    const mostBytes = 512 * MAX_BODY_BYTES;
    const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65_536, "x"), Buffer.from("\r\n")]);
    const socket = connect({ host: "127.0.0.1", port: gateway.port });
    let sent = 0;
    let answer = "";
    const write = (): void => {
      while (sent < mostBytes && socket.writable) {
        sent += 65_536;
        if (!socket.write(chunk)) return;
      }
    };
    socket.on("data", (data) => {
      answer += data.toString("latin1");
    });
    socket.on("drain", write).on("error", () => {});
    socket.write("POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    write();
    await new Promise((resolve) => socket.on("close", resolve));
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(sent).toBeLessThan(mostBytes);
  });
});

describe("what a body may be", () => {
  test.each([
    ["nothing", ""],
    ["no JSON", "hello"],
    ["half", '{"agent_id":"main"'],
    ["two values", '{"agent_id":"main","message":"a"}{}'],
    ["a duplicate key", '{"agent_id":"main","message":"a","message":"b"}'],
    ["a duplicate key, escaped", '{"agent_id":"main","message":"a","\\u006dessage":"b"}'],
    ["__proto__", '{"agent_id":"main","message":"a","__proto__":{"principal":"root"}}'],
    ["__proto__ in a contract", '{"agent_id":"main","message":"a","contract":{"__proto__":{"max_inferences":1}}}'],
    ["a number beyond doubles", '{"agent_id":"main","message":"a","contract":{"max_inferences":1e400}}'],
    ["an integer beyond 2^53", '{"agent_id":"main","message":"a","contract":{"max_inferences":9007199254740993}}'],
    ["a lone surrogate", '{"agent_id":"main","message":"\\ud800"}'],
    ["a byte order mark", '\ufeff{"agent_id":"main","message":"a"}'],
    ["comments", '{"agent_id":"main","message":"a"} // JSON5'],
    ["200,000 levels of arrays", "[".repeat(200_000) + "]".repeat(200_000)],
    ["100,000 levels of objects", '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000)],
  ])("%s is 400, and what it held is not repeated", async (_name, text) => {
    const gateway = await startGateway();
    const answer = await postBytes(gateway, Buffer.from(text));
    expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid.request"]);
    expect(answer.text.length).toBeLessThan(400);
    expect(gateway.assistant.requests).toEqual([]);
  });

  test.each([
    ["a stray continuation byte", [0x80]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["half a character", [0xe2, 0x82]],
    ["a surrogate in UTF-8", [0xed, 0xa0, 0x80]],
    ["UTF-16", [0xff, 0xfe, 0x61, 0x00]],
  ])("%s is not UTF-8", async (_name, bytes) => {
    const gateway = await startGateway();
    const answer = await postBytes(
      gateway,
      Buffer.concat([Buffer.from(PREFIX), Buffer.from(bytes), Buffer.from(SUFFIX)]),
    );
    expect([answer.status, errorOf(answer).message]).toEqual([400, "the body is not valid UTF-8"]);
  });

  test.each(["application/json", "Application/JSON; charset=utf-8", "text/plain", "application/x-www-form-urlencoded"])(
    "as %s it is taken",
    async (type) => {
      const gateway = await startGateway();
      expect((await postBytes(gateway, Buffer.from(bodyOf(100)), { "content-type": type })).status).toBe(202);
    },
  );

  test("a compressed body is 415 before it is unpacked", async () => {
    const gateway = await startGateway();
    const bomb = gzipSync(bodyOf(50 * MAX_BODY_BYTES));
    const answer = await postBytes(gateway, bomb, { "content-encoding": "gzip", "content-type": "application/json" });
    expect([answer.status, errorOf(answer).code]).toEqual([415, "invalid.request"]);
  });
});

/** Sends chunks for as long as the other side takes them; says what it answered and how much had been sent by then. */
function pour(gateway: RunningGateway, mostBytes: number): Promise<{ readonly status: number; readonly sent: number }> {
  return new Promise((resolve, reject) => {
    const chunk = Buffer.alloc(65_536, "x");
    let sent = 0;
    const outgoing: ClientRequest = request({
      host: "127.0.0.1",
      port: gateway.port,
      method: "POST",
      path: "/v1/runs",
      headers: AUTHORIZED,
      agent: false,
    });
    const write = (): void => {
      sent += chunk.length;
      if (sent >= mostBytes) outgoing.end();
      else if (outgoing.write(chunk)) setImmediate(write);
      else outgoing.once("drain", write);
    };
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      resolve({ status: incoming.statusCode ?? 0, sent });
      incoming.resume();
      outgoing.destroy();
    });
    write();
  });
}
