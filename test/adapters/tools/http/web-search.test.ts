import { describe, expect, test } from "vitest";
import { UNTRUSTED_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { answering, countConnects, openWeb, redirecting, serve } from "./gated-calls.ts";

const RESULTS = [
  { title: "One ", url: "https://one.example/a", content: "First\n  snippet", score: 1.5, engine: "x" },
  { title: "Script", url: "javascript:alert(1)", content: "" },
  { url: "http://two.example", title: null, content: 7 },
  "nonsense",
  { title: "x".repeat(1000), url: "https://three.example/", content: "y".repeat(5000) },
];

async function searching(handle = answering(JSON.stringify({ results: RESULTS }))) {
  const engine = await serve(handle);
  const web = await openWeb({ allowAddresses: [engine.place], searchUrl: `${engine.url}/base/` });
  return { ...engine, ...web };
}

test("there is no search without an engine", async () => {
  const { toolbox } = await openWeb();
  expect(toolbox.tools.map(({ name }) => name)).toEqual(["http.get"]);
});

test("the plan names the engine's host and the very question", async () => {
  const { toolbox, url } = await searching();
  expect(await toolbox.plan("web_search", { query: 'what "is" this?' })).toMatchObject({
    ok: true,
    tool: "web.search",
    args: { query: 'what "is" this?', limit: 8 },
    risk: "read_only",
    idempotency: "read_only",
    egress: ["127.0.0.1"],
    labels: UNTRUSTED_LABELS,
    shown: expect.stringContaining('Search the web for "what \\"is\\" this?"'),
    plan: { targets: [`${url}/base/search?q=what+%22is%22+this%3F&format=json`] },
  });
});

test("results are titles, web addresses and snippets, as many as asked for", async () => {
  const { call, requests } = await searching();
  expect(await call("web.search", { query: "a b" })).toEqual({
    ok: true,
    output: {
      query: "a b",
      results: [
        { title: "One", url: "https://one.example/a", snippet: "First snippet" },
        { title: "", url: "http://two.example/", snippet: "7" },
        {
          title: expect.stringMatching(/^x{297}…$/),
          url: "https://three.example/",
          snippet: expect.stringMatching(/^y{597}…$/),
        },
      ],
    },
  });
  expect(requests.map((request) => request.url)).toEqual(["/base/search?q=a+b&format=json"]);
  const limited = await call("web.search", { query: "a b", limit: 1 });
  expect(limited).toMatchObject({ output: { results: [{ title: "One" }] } });
});

describe("under the same gates", () => {
  test("without the capability nothing is asked", async () => {
    const { call, requests } = await searching();
    expect(await call("web.search", { query: "a" }, { capabilities: [] })).toMatchObject({
      error: { code: "policy.denied" },
    });
    expect(requests).toHaveLength(0);
  });

  test("an engine on loopback must be listed", async () => {
    const connects = countConnects();
    const { call } = await openWeb({ searchUrl: "http://127.0.0.1:8888" });
    expect(await call("web.search", { query: "a" })).toMatchObject({
      error: { code: "policy.denied", message: expect.stringContaining(`add "127.0.0.1:8888"`) },
    });
    expect(connects()).toBe(0);
  });

  test("a redirect elsewhere is not followed", async () => {
    const { call } = await searching(redirecting("https://other.test/search"));
    expect(await call("web.search", { query: "a" })).toMatchObject({ error: { code: "policy.denied" } });
  });
});

describe("an engine that does not answer as it should", () => {
  test("is reported with what to do", async () => {
    const closed = await searching((_, response) => response.writeHead(403).end());
    expect(await closed.call("web.search", { query: "a" })).toMatchObject({
      error: { code: "invalid.request", retryable: false, message: expect.stringContaining("search.formats") },
    });
    const busy = await searching((_, response) => response.writeHead(429).end());
    expect(await busy.call("web.search", { query: "a" })).toMatchObject({
      error: { code: "invalid.request", retryable: true },
    });
  });

  test.each(["<html>", "[]", "null", '{"results": {}}', '{"results": [', `{"results": ${"[".repeat(100_000)}`])(
    "%.20s",
    async (body) => {
      const { call } = await searching(answering(body));
      expect(await call("web.search", { query: "a" })).toMatchObject({ ok: false, error: { code: "invalid.request" } });
    },
  );
});
