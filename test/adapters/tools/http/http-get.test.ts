import { readFile, stat, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { UNTRUSTED_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../../requirements.ts";
import { manualClock } from "../../models/manual-clock.ts";
import { answering, openWeb, serve } from "./gated-calls.ts";

test("parameters and defaults are the seed's, and the plan says what would be reached", async () => {
  const { toolbox } = await openWeb();
  expect(toolbox.tools).toMatchObject([
    {
      name: "http.get",
      risk: "read_only",
      parameters: {
        required: ["url"],
        properties: { url: { type: "string" }, use_cache: { type: "boolean", default: true } },
      },
    },
  ]);
  expect(await toolbox.plan("web_fetch", { url: "HTTPS://Bücher.example./a#b" })).toMatchObject({
    ok: true,
    tool: "http.get",
    args: { url: "HTTPS://Bücher.example./a#b", use_cache: true },
    egress: ["xn--bcher-kva.example"],
    labels: UNTRUSTED_LABELS,
    idempotency: "read_only",
    shown: "Fetch https://xn--bcher-kva.example/a from xn--bcher-kva.example, port 443",
    plan: { targets: ["https://xn--bcher-kva.example/a"] },
  });
});

test("planning contacts neither a resolver nor a server", async () => {
  const { toolbox, lookedUp } = await openWeb({ names: {} });
  expect(await toolbox.plan("http.get", { url: "http://site.test/" })).toMatchObject({ ok: true });
  expect(lookedUp).toEqual([]);
});

describe("what comes back", () => {
  async function fetched(body: string | Uint8Array, contentType: string) {
    const { place, url } = await serve(answering(body, { "content-type": contentType }));
    const { get } = await openWeb({ allowAddresses: [place] });
    return { answer: await get(`${url}/page`), url };
  }

  test("HTML as readable text, with where and when it came from", async () => {
    const { answer, url } = await fetched("<title>T</title><p>Hello <a href='/x'>there</a>", "text/html");
    expect(answer).toEqual({
      ok: true,
      output: {
        ...{ url: `${url}/page`, status: 200, content_type: "text/html", title: "T", text: `Hello there (${url}/x)` },
        ...{ truncated: false, from_cache: false, fetched_at: expect.stringMatching(/^\d{4}-/) },
      },
    });
  });

  test.each([
    ["utf-8 by default", Buffer.from("gr\u00fcn"), "text/plain"],
    ["the charset that was sent", Buffer.from("gr\u00fcn", "latin1"), "text/plain; charset=ISO-8859-1"],
    ["a byte order mark before it", Buffer.from("\ufeffgr\u00fcn", "utf16le"), "text/plain; charset=latin1"],
    ["an unknown charset", Buffer.from("gr\u00fcn"), 'text/plain; charset="x-nobody"'],
  ])("text in %s", async (_, bytes, contentType) => {
    expect((await fetched(bytes, contentType)).answer).toMatchObject({ output: { text: "gr\u00fcn" } });
  });

  test("a page that names its charset itself", async () => {
    const page = Buffer.from('<meta charset="windows-1251"><p>\xcf\xf0\xe8\xe2\xe5\xf2', "latin1");
    expect((await fetched(page, "text/html")).answer).toMatchObject({ output: { text: "Привет" } });
  });

  test("JSON and other text as it is; what is no text is refused", async () => {
    expect((await fetched('{"a": 1}', "application/problem+json")).answer).toMatchObject({
      output: { text: '{"a": 1}' },
    });
    expect((await fetched("plain", "application/octet-stream")).answer).toMatchObject({ output: { text: "plain" } });
    for (const [body, type] of [
      ["x", "image/png"],
      ["a\0b", "application/octet-stream"],
    ] as const) {
      expect((await fetched(body, type)).answer).toMatchObject({ ok: false, error: { code: "invalid.request" } });
    }
  });

  test("long text is cut between two characters", async () => {
    const { answer } = await fetched("é".repeat(200_000), "text/plain");
    expect(answer).toMatchObject({ output: { text: "é".repeat(131_072), truncated: true } });
  });

  test("an answer with an error status is an answer, and not kept", async () => {
    const { place, url, requests } = await serve((_, response) => response.writeHead(404).end("nothing here"));
    const { get } = await openWeb({ allowAddresses: [place] });
    for (const _ of [1, 2]) {
      expect(await get(url)).toMatchObject({
        ok: true,
        output: { status: 404, text: "nothing here", from_cache: false },
      });
    }
    expect(requests).toHaveLength(2);
  });

  test("an abort is a timeout", async () => {
    const abort = new AbortController();
    const { place, url } = await serve(() => abort.abort());
    const { get } = await openWeb({ allowAddresses: [place] });
    expect(await get(url, { signal: abort.signal })).toMatchObject({
      ok: false,
      error: { code: "timeout", retryable: true },
    });
  });
});

describe("the cache", () => {
  verifies(
    ["S-4.5/cache", "S-4.5/bypass"],
    "a fresh page is answered without a request, from a file; use_cache:false asks and refreshes",
    async () => {
      let version = 0;
      const { place, url, requests } = await serve((_, response) => {
        version += 1;
        response.writeHead(200, { "content-type": "text/plain" }).end(`version ${version}`);
      });
      const clock = manualClock();
      const { call, cacheFile } = await openWeb({ allowAddresses: [place], clock, ttlS: 60 });
      const get = (args: object) => call("http.get", { url: `${url}/a`, ...args });
      const shows = (text: string, fromCache: boolean) => ({
        ok: true,
        output: { text, from_cache: fromCache, status: 200 },
      });

      expect(await get({})).toMatchObject(shows("version 1", false));
      clock.pass(59_999);
      expect(await get({})).toMatchObject(shows("version 1", true));
      expect(await get({ use_cache: true, url: `${url}/x/../a#elsewhere` })).toMatchObject(shows("version 1", true));
      expect(requests).toHaveLength(1);

      const other = await openWeb({ allowAddresses: [place], clock, ttlS: 60, cacheFile });
      expect(await other.call("http.get", { url: `${url}/a` })).toMatchObject(shows("version 1", true));
      expect((await readFile(cacheFile)).subarray(0, 15).toString()).toBe("SQLite format 3");

      expect(await get({ use_cache: false })).toMatchObject(shows("version 2", false));
      expect(await get({})).toMatchObject(shows("version 2", true));
      clock.pass(60_000);
      expect(await get({})).toMatchObject(shows("version 3", false));
      expect(await call("http.get", { url: `${url}/a?b` })).toMatchObject(shows("version 4", false));
      expect(requests).toHaveLength(4);
    },
  );

  test("is not used for a no-store page, nor when it is disabled", async () => {
    const { place, url, requests } = await serve(answering("x", { "cache-control": "private, No-Store" }));
    const { get } = await openWeb({ allowAddresses: [place] });
    expect(await get(url)).toMatchObject({ output: { from_cache: false } });
    expect(await get(url)).toMatchObject({ output: { from_cache: false } });
    const plain = await serve(answering("x"));
    const uncached = await openWeb({ allowAddresses: [plain.place], ttlS: 0 });
    expect(await uncached.get(plain.url)).toMatchObject({ output: { from_cache: false } });
    expect(await uncached.get(plain.url)).toMatchObject({ output: { from_cache: false } });
    expect([requests.length, plain.requests.length]).toEqual([2, 2]);
    await expect(stat(uncached.cacheFile)).rejects.toThrow("ENOENT");
  });

  test("that is damaged is discarded silently", async () => {
    const { place, url } = await serve(answering("x"));
    const { cacheFile, get } = await openWeb({ allowAddresses: [place] });
    await writeFile(cacheFile, "this is no database at all".repeat(100), { mode: 0o644 });
    expect(await get(url)).toMatchObject({ output: { from_cache: false } });
    expect(await get(url)).toMatchObject({ output: { from_cache: true } });
    expect((await stat(cacheFile)).mode & 0o777).toBe(0o600);
  });
});

test("a summary names the page and its status", async () => {
  const { toolbox } = await openWeb();
  const call = { tool: "http.get", args: { url: "https://a.test/" }, ok: true };
  expect(toolbox.summarize({ ...call, output: { url: "https://a.test/b", status: 200 } })).toBe(
    "fetched https://a.test/b (200)",
  );
  expect(toolbox.summarize({ ...call, output: null })).toBe("fetched https://a.test/");
});
