/** The guard against real servers: what is dialled, what is followed, what is read, and what ends it. */
import { once } from "node:events";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGuardedFetch, type Resolve } from "../../../../src/adapters/tools/http/guarded-fetch.ts";
import { MAX_BODY_BYTES } from "../../../../src/adapters/tools/http/read-body.ts";
import { readUrl } from "../../../../src/adapters/tools/http/read-url.ts";
import { systemClock } from "../../../../src/boot/system-clock.ts";
import type { Clock } from "../../../../src/runtime/ports/clock.ts";
import { selfSigned } from "../../../loopback/self-signed.ts";
import { manualClock } from "../../models/manual-clock.ts";
import { answering, countConnects, redirecting, serve } from "./gated-calls.ts";

interface Given {
  readonly allowAddresses?: readonly string[];
  readonly resolve?: Resolve;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

async function get(text: string, given: Given = {}) {
  const url = readUrl(text);
  const { allowAddresses = [url.origin.replace(/^https?:\/\//, "")], clock = systemClock, resolve } = given;
  const { signal = new AbortController().signal } = given;
  const fetch = createGuardedFetch({ clock, allowAddresses, resolve });
  const fetched = await fetch.get({ url, mayReach: (host) => host === url.host, accept: "*/*", signal });
  return { ...fetched, text: Buffer.from(fetched.bytes).toString() };
}

const loopback: Resolve = () => Promise.resolve(["127.0.0.1"]);

describe("what is dialled", () => {
  test("the address that was vetted, and the name is looked up once", async () => {
    const good = await serve(answering("good"));
    const bad = await serve(answering("bad"), "127.0.0.2", good.port);
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    let asked = 0;
    const resolve: Resolve = () => Promise.resolve(answers[asked++] ?? []);
    expect(await get(`http://rebind.test:${good.port}/`, { resolve })).toMatchObject({ status: 200, text: "good" });
    expect(asked).toBe(1);
    expect(good.requests).toHaveLength(1);
    expect(good.requests[0]?.headers.host).toBe(`rebind.test:${good.port}`);
    expect(bad.requests).toHaveLength(0);
  });

  test("each hop is looked up for itself", async () => {
    const asked: string[] = [];
    const { port } = await serve((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/there" }).end();
      else response.end("there");
    });
    const resolve: Resolve = (host) => {
      asked.push(host);
      return Promise.resolve(["127.0.0.1"]);
    };
    expect(await get(`http://site.test:${port}/`, { resolve })).toMatchObject({ text: "there" });
    expect(asked).toEqual(["site.test", "site.test"]);
  });

  test("another address of the host where the first does not answer", async () => {
    const { port } = await serve(answering("second"), "127.0.0.3");
    const resolve: Resolve = () => Promise.resolve(["127.0.0.4", "127.0.0.3"]);
    expect(await get(`http://site.test:${port}/`, { resolve })).toMatchObject({ text: "second" });
  });

  test.each([
    ["a private address", ["10.0.0.1"]],
    ["a private address among public ones", ["93.184.216.34", "127.0.0.1"]],
    ["a private address before public ones", ["::1", "2606:4700::1"]],
    ["nothing that is an address", ["localhost"]],
  ])("never: %s", async (_, addresses) => {
    const connects = countConnects();
    const asking = get("http://site.test/", { allowAddresses: [], resolve: () => Promise.resolve(addresses) });
    await expect(asking).rejects.toMatchObject({ code: "policy.denied" });
    expect(connects()).toBe(0);
  });

  test("an unknown host is reported, with whether to retry", async () => {
    const failing =
      (code: string): Resolve =>
      () =>
        Promise.reject(Object.assign(new Error("dns"), { code }));
    const ask = (code: string) => get("http://site.test/", { resolve: failing(code) });
    await expect(ask("ENOTFOUND")).rejects.toMatchObject({ code: "invalid.request", retryable: false });
    await expect(ask("EAI_AGAIN")).rejects.toMatchObject({ code: "invalid.request", retryable: true });
    await expect(get("http://site.test/", { resolve: () => Promise.resolve([]) })).rejects.toMatchObject({
      code: "invalid.request",
    });
  });

  test("a closed port is reported", async () => {
    const { server, url } = await serve(answering(""));
    server.close();
    await expect(get(url)).rejects.toMatchObject({ code: "invalid.request", retryable: true });
  });
});

describe("redirects", () => {
  test("into a private address are refused, whether the host is another or the same", async () => {
    const inside = await serve(answering("inside"));
    for (const location of [`${inside.url}/`, `http://localhost:${inside.port}/`, `//127.1:${inside.port}/`]) {
      const outside = await serve(redirecting(location));
      await expect(get(`http://site.test:${outside.port}/`, { resolve: loopback })).rejects.toMatchObject({
        code: "policy.denied",
      });
      await expect(get(outside.url)).rejects.toMatchObject({ code: "policy.denied" });
    }
    expect(inside.requests).toHaveLength(0);
  });

  test("to a port that is not the web's are refused before the name is looked up again", async () => {
    const { port } = await serve(redirecting("http://site.test:22/"));
    const answers = [["127.0.0.1"], ["93.184.216.34"]];
    let asked = 0;
    const resolve: Resolve = () => Promise.resolve(answers[asked++] ?? []);
    await expect(get(`http://site.test:${port}/`, { resolve })).rejects.toMatchObject({ code: "policy.denied" });
    expect(asked).toBe(1);
  });

  test("to another host are refused, and the refusal names the target", async () => {
    const { url } = await serve(redirecting("https://other.test/x?y#z"));
    await expect(get(url)).rejects.toMatchObject({
      code: "policy.denied",
      message: expect.stringContaining("redirects to https://other.test/x?y, another host"),
      details: { redirect: "https://other.test/x?y" },
    });
  });

  test.each([301, 302, 303, 307, 308])("%i on the same host is followed", async (status) => {
    const { url, requests } = await serve((request, response) => {
      if (request.url === "/a") response.writeHead(status, { location: "b" }).end("not this");
      else response.end("this");
    });
    expect(await get(`${url}/a`)).toMatchObject({ status: 200, text: "this", url: { href: `${url}/b` } });
    expect(requests.map((request) => [request.method, request.url])).toEqual([
      ["GET", "/a"],
      ["GET", "/b"],
    ]);
  });

  test.each(["file:///etc/passwd", "http://user@127.0.0.1/", "\\\\x", "gopher://x/", "http://[::1%25lo]/"])(
    "to %j are refused",
    async (location) => {
      const { url } = await serve(redirecting(location));
      await expect(get(url)).rejects.toMatchObject({ code: "policy.denied" });
    },
  );

  test("five are followed, six are not", async () => {
    const { url, requests } = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end();
      else response.end("done");
    });
    expect(await get(`${url}/5`)).toMatchObject({ text: "done" });
    expect(requests).toHaveLength(6);
    await expect(get(`${url}/6`)).rejects.toMatchObject({ code: "invalid.request" });
    expect(requests).toHaveLength(12);
  });

  test("a redirect without a place to go is an answer", async () => {
    const { url } = await serve((_, response) => response.writeHead(304).end());
    expect(await get(url)).toMatchObject({ status: 304, text: "" });
  });
});

test("no detail of the machine and no cookie is sent", async () => {
  const { url, requests } = await serve((request, response) => {
    if (request.url === "/") response.writeHead(302, { location: "/x", "set-cookie": "a=b" }).end();
    else response.end();
  });
  await get(url);
  expect(requests.map(({ headers }) => Object.keys(headers).toSorted())).toEqual(
    Array(2).fill(["accept", "accept-encoding", "connection", "host", "user-agent"]),
  );
});

const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

describe("what is read", () => {
  test("what was counted decides, not what the head says", async () => {
    const lying = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n");
      const more = () => {
        while (socket.writable && socket.write(Buffer.alloc(65_536, 120)));
      };
      socket.on("drain", more);
      more();
    });
    expect(await get(lying.url)).toMatchObject({ status: 200, text: "xxxxxxxxxx" });
    await lying.closed;
  });

  test("an endless body is cut at its limit, and the connection closed", async () => {
    const endless = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
      const more = () => {
        while (socket.writable && socket.write(Buffer.alloc(65_536, 120)));
      };
      socket.on("drain", more);
      more();
    });
    const { bytes, isCut } = await get(endless.url);
    expect(bytes).toHaveLength(MAX_BODY_BYTES);
    expect(isCut).toBe(true);
    await endless.closed;
  });

  test("packed bodies are decoded", async () => {
    const gzip = await serve(answering(gzipSync("packed"), { "content-encoding": "gzip" }));
    const xGzip = await serve(answering(gzipSync("packed"), { "content-encoding": "X-GZIP" }));
    const brotli = await serve(answering(brotliCompressSync("packed"), { "content-encoding": "br" }));
    for (const { url } of [gzip, xGzip, brotli]) expect(await get(url)).toMatchObject({ text: "packed", isCut: false });
  });

  test("a small body that unpacks to a large one is cut", async () => {
    const large = Buffer.alloc(8 * MAX_BODY_BYTES);
    const bombs = [
      await serve(answering(gzipSync(large), { "content-encoding": "gzip" })),
      await serve(answering(brotliCompressSync(large, FAST), { "content-encoding": "br" })),
    ];
    for (const { url } of bombs) {
      const { bytes, isCut } = await get(url);
      expect(bytes).toHaveLength(MAX_BODY_BYTES);
      expect(isCut).toBe(true);
    }
  });

  test("a large body that unpacks to nothing is cut too", async () => {
    const nothing = Buffer.concat(Array(200_000).fill(gzipSync("")));
    expect(nothing.length).toBeGreaterThan(MAX_BODY_BYTES);
    const { url } = await serve(answering(nothing, { "content-encoding": "gzip" }));
    expect(await get(url)).toMatchObject({ text: "", isCut: true });
  });

  test("what cannot be decoded is refused", async () => {
    for (const encoding of ["gzip", "br", "zstd", "gzip, gzip", "__proto__", "constructor"]) {
      const { url } = await serve(answering("not packed at all, but plain", { "content-encoding": encoding }));
      await expect(get(url), encoding).rejects.toMatchObject({ code: "invalid.request" });
    }
  });

  test("what is not HTTP, breaks off or has an endless head is an error with a code", async () => {
    for (const said of [
      "SSH-2.0-x\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx",
      `HTTP/1.1 200 OK\r\nx: ${"x".repeat(20_000)}\r\n\r\n`,
      "",
    ]) {
      const { url } = await rawServer((socket) => socket.end(said));
      await expect(get(url), said.slice(0, 40)).rejects.toMatchObject({ code: "invalid.request" });
    }
  });
});

describe("what ends it", () => {
  // Sooner than the library gives up connecting, which would close it as well.
  test("an abort closes the connection, while connecting and while reading", { timeout: 6_000 }, async () => {
    const silent = await rawServer(() => undefined);
    const begun = await rawServer((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nx"));
    // Over TLS nothing is answered: the connection is never made.
    for (const [server, url] of [
      [silent, silent.url],
      [silent, silent.url.replace("http:", "https:")],
      [begun, begun.url],
    ] as const) {
      const abort = new AbortController();
      const asking = get(url, { signal: abort.signal });
      const socket = await server.next();
      await once(socket, "data");
      abort.abort();
      await expect(asking).rejects.toBe(abort.signal.reason);
      if (!socket.closed) await once(socket, "close");
    }
  });

  test("an abort does not wait for a resolver", async () => {
    const abort = new AbortController();
    const asking = get("http://site.test/", {
      signal: abort.signal,
      resolve: () => {
        queueMicrotask(() => abort.abort());
        return new Promise(() => undefined);
      },
    });
    await expect(asking).rejects.toMatchObject({ name: "AbortError" });
  });

  test("a server that takes too long is a timeout, whatever it keeps sending", async () => {
    const clock = manualClock();
    const server = await rawServer((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nx"));
    const asking = get(server.url, { clock });
    await server.next();
    clock.pass(25_000);
    await expect(asking).rejects.toMatchObject({ code: "timeout", retryable: true });
    await server.closed;
  });
});

describe("TLS", () => {
  test("the certificate must be trusted, and be of the host in the URL, not of the address", async () => {
    const { url, names, port, certificate } = await secureServer("site.test");
    const resolve = loopback;
    await expect(get(url, { resolve })).rejects.toMatchObject({
      code: "invalid.request",
      message: expect.stringContaining("certificate"),
    });
    const trusted = getCACertificates("default");
    onTestFinished(() => setDefaultCACertificates(trusted));
    setDefaultCACertificates([...trusted, certificate]);
    expect(await get(url, { resolve })).toMatchObject({ status: 200, text: "secure" });
    for (const host of ["other.test", "127.0.0.1"]) {
      await expect(get(`https://${host}:${port}/`, { resolve })).rejects.toMatchObject({
        code: "invalid.request",
        message: expect.stringContaining("certificate"),
      });
    }
    expect(names).toEqual(["site.test", "site.test", "other.test"]);
  });
});

/** Speaks whatever the test says; `closed` resolves when its first connection is gone. */
async function rawServer(handle: (socket: Socket) => void) {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined).on("close", () => close());
    handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const next = async (): Promise<Socket> => {
    const [socket] = await once(server, "connection");
    return socket;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closed, next };
}

async function secureServer(name: string) {
  const { key, certificate } = selfSigned(name);
  const names: string[] = [];
  const options = {
    ...{ key, cert: certificate },
    SNICallback: (servername: string, callback: (error: null) => void) => {
      names.push(servername);
      callback(null);
    },
  };
  const server = createSecureServer(options, (_, response) => response.end("secure"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `https://${name}:${port}/`, names, port, certificate };
}
