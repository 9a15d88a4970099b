import { connect } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { GATEWAY_STOPPING, type Mount, type Serve } from "../../../src/runtime/operations/mount.ts";
import type { Caller } from "../../../src/runtime/operations/operation.ts";
import { AUTHORIZED, sendRaw, startGateway, TOKEN } from "./running-gateway.ts";

const mounted = (serve: Serve, more: Partial<Mount> = {}): Mount => ({
  paths: ["/mounted", "/files/*"],
  methods: ["GET", "POST"],
  scope: "operate",
  load: () => Promise.resolve(serve),
  ...more,
});

describe("a mount", () => {
  test("gets the request and who sent it, without the token, and answers for itself", async () => {
    let seen: { readonly request: Request; readonly text: string; readonly caller: Caller } | null = null;
    const mount = mounted(async (request, caller) => {
      seen = { request, text: await request.text(), caller };
      return new Response("<p>hello", {
        status: 203,
        headers: {
          "content-type": "text/html",
          "content-security-policy": "default-src 'self'",
          "cache-control": "private",
        },
      });
    });
    const { ask, port } = await startGateway({ mounts: [mount] });
    const headers = { ...AUTHORIZED, cookie: "a=b", "x-own": "1", "idempotency-key": "k1" };
    const answer = await ask("POST", "/mounted?page=2", { headers, body: { a: 1 } });
    expect(answer).toMatchObject({ status: 203, text: "<p>hello" });
    expect(answer.headers).toMatchObject({
      "content-type": "text/html",
      "content-security-policy": "default-src 'self'",
      "cache-control": "private",
      "x-content-type-options": "nosniff",
    });
    expect(seen).toMatchObject({
      text: '{"a":1}',
      caller: { principal: "operator", source: "http", idempotencyKey: "k1" },
      request: { method: "POST", url: `http://127.0.0.1:${port}/mounted?page=2` },
    });
    const { request } = seen as unknown as { readonly request: Request };
    expect(request.headers.get("x-own")).toBe("1");
    expect(request.headers.get("authorization") ?? request.headers.get("cookie")).toBeNull();
  });

  test("is not cached unless it says so, and answers HEAD without its body", async () => {
    const { ask } = await startGateway({ mounts: [mounted(({ method }) => new Response(method))] });
    const got = await ask("GET", "/mounted", { headers: AUTHORIZED });
    expect([got.text, got.headers["cache-control"]]).toEqual(["GET", "no-store"]);
    expect(await ask("HEAD", "/mounted", { headers: AUTHORIZED })).toMatchObject({ status: 200, text: "" });
  });

  test("is found by its exact path or below its prefix, by the longest one, and only as written", async () => {
    const named = (name: string, ...paths: readonly `/${string}`[]) => mounted(() => new Response(name), { paths });
    const mounts = [
      named("root", "/"),
      named("files", "/files/*"),
      named("inner", "/files/inner/*"),
      named("runs", "/v1/*"),
    ];
    const { ask } = await startGateway({ mounts });
    const at = async (path: string) => {
      const { status, text } = await ask("GET", path, { headers: AUTHORIZED });
      return status === 200 ? text : status;
    };
    expect(await Promise.all(["/", "/files/a", "/files/inner/a", "/v1/other"].map(at))).toEqual([
      "root",
      "files",
      "inner",
      "runs",
    ]);
    expect(await at("/v1/runs")).toContain('"runs":[]');
    expect(
      await Promise.all(["/files", "/files/../v1/runs", "/files/%2e%2e/x", "//files/a", "/fileserver"].map(at)),
    ).toEqual([404, 404, 404, 404, 404]);
  });

  test("is behind Host, Origin, token, scope and method; a public one needs no token", async () => {
    let served = 0;
    const serve: Serve = () => {
      served += 1;
      return new Response("served");
    };
    const open = mounted(serve, { paths: ["/open"], scope: "public", methods: ["GET"] });
    const { ask } = await startGateway({ mounts: [mounted(serve), open] });
    expect((await ask("GET", "/mounted")).status).toBe(401);
    expect((await ask("GET", "/mounted", { headers: { ...AUTHORIZED, host: "evil.example" } })).status).toBe(403);
    expect((await ask("GET", "/open", { headers: { origin: "https://evil.example" } })).status).toBe(403);
    const refused = await ask("DELETE", "/mounted", { headers: AUTHORIZED });
    expect([refused.status, refused.headers["allow"]]).toEqual([405, "GET, HEAD, POST"]);
    expect(served).toBe(0);
    expect(await ask("GET", "/open")).toMatchObject({ status: 200, text: "served" });
  });

  test("has a body cap, and a shape of errors, of its own; it is loaded once, at its first request", async () => {
    let loads = 0;
    const count: Serve = async (request) => new Response(String((await request.arrayBuffer()).byteLength));
    const mount = mounted(count, {
      maxBodyBytes: 8,
      errorBody: ({ status, code }) => ({ mine: `${status} ${code}` }),
      load() {
        loads += 1;
        return loads === 1 ? Promise.reject(new Error("cannot load")) : Promise.resolve(count);
      },
    });
    const { ask, errors } = await startGateway({ mounts: [mount] });
    expect(loads).toBe(0);
    expect((await ask("POST", "/mounted", { bytes: Buffer.alloc(8) })).text).toBe('{"mine":"401 auth.required"}');
    const post = async (bytes: number) =>
      (await ask("POST", "/mounted", { headers: AUTHORIZED, bytes: Buffer.alloc(bytes) })).text;
    expect(await post(9)).toBe('{"mine":"413 payload.too_large"}');
    expect(await post(8)).toBe('{"mine":"500 internal.error"}');
    expect(errors).toHaveLength(1);
    expect(await Promise.all([post(8), post(7)])).toEqual(["8", "7"]);
    expect(loads).toBe(2);
  });
});

const MAX_PULLS = 400;
const REQUEST = `GET /mounted HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;

/** Its client reads nothing. */
async function startEndless() {
  const cancelled = Promise.withResolvers<AbortSignal>();
  let pulls = 0;
  const serve: Serve = ({ signal }) => {
    const pull = (controller: ReadableStreamDefaultController): void => {
      pulls += 1;
      if (pulls > MAX_PULLS) controller.error(new Error("read without end"));
      else controller.enqueue(new Uint8Array(64 * 1024));
    };
    return new Response(new ReadableStream({ pull, cancel: () => cancelled.resolve(signal) }));
  };
  const gateway = await startGateway({ mounts: [mounted(serve)] });
  const socket = connect({ host: "127.0.0.1", port: gateway.port });
  socket.on("error", () => {});
  socket.pause();
  socket.write(REQUEST);
  await vi.waitFor(() => expect(gateway.clock.pending).toBeGreaterThan(0));
  return { gateway, socket, cancelled: cancelled.promise };
}

describe("a streaming mount", () => {
  test("is read no further than its client reads, and a client that reads nothing is cut off", async () => {
    const { gateway, cancelled } = await startEndless();
    gateway.clock.advance(30_000);
    expect((await cancelled).aborted).toBe(true);
    expect(gateway.errors).toEqual([]);
  });

  test("learns when its client goes away", async () => {
    const { gateway, socket, cancelled } = await startEndless();
    socket.destroy();
    const { aborted, reason } = await cancelled;
    expect([aborted, reason === GATEWAY_STOPPING]).toEqual([true, false]);
    expect(gateway.errors).toEqual([]);
  });

  test("learns that the gateway stops", async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const mount = mounted(({ signal }) => {
      begun.resolve(signal);
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from("begun;"));
          signal.addEventListener("abort", () => {
            controller.enqueue(Buffer.from("stopped"));
            controller.close();
          });
        },
      });
      return new Response(body);
    });
    const gateway = await startGateway({ mounts: [mount] });
    const received = sendRaw(gateway.port, REQUEST);
    const signal = await begun.promise;
    await gateway.close(0);
    expect(await received).toContain("stopped");
    expect(signal.reason).toBe(GATEWAY_STOPPING);
  });
});
