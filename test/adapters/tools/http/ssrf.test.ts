/** The class ssrf_url of the adversarial inputs, with `net` granted: the address policy alone has to hold. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../requirements.ts";
import { answering, countConnects, openWeb, redirecting, serve } from "./gated-calls.ts";

interface Attack {
  readonly class: string;
  readonly name: string;
  readonly input: { readonly args?: { readonly url: string } };
}

/** Those that are no single URL; each has a test of its own below. */
const STAGED = ["cache_poison_across_caps", "content_length_lie", "redirect_cross_domain_header_leak"];
/** Denied by the capability: `net` reaches every public host, so they are tried with this one instead. */
const GRANTED = ["net:huggingface.co"];

async function attacks(): Promise<readonly Attack[]> {
  const all: readonly Attack[] = JSON.parse(await readFile("test/fixtures/adversarial.json", "utf8"));
  return all.filter((input) => input.class === "ssrf_url");
}

test("every listed URL is denied without a connection, whatever a name resolves to", async () => {
  const listed = await attacks();
  expect(listed.length).toBeGreaterThan(25);
  expect(
    listed
      .filter(({ input }) => input.args === undefined)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(STAGED);
  const { port } = await serve(answering("inside"));
  for (const { name, input } of listed) {
    if (input.args === undefined) continue;
    const connects = countConnects();
    const names = { "metadata.google.internal": ["169.254.169.254"], localhost: ["127.0.0.1"] };
    const { get, lookedUp } = await openWeb({ names, allowAddresses: [`127.0.0.1:${port}`] });
    const capabilities = name === "subdomain_not_granted" ? GRANTED : ["net", ...GRANTED];
    expect(await get(input.args.url, { capabilities }), name).toMatchObject({
      ok: false,
      error: { code: "policy.denied" },
    });
    expect(connects(), name).toBe(0);
    expect(lookedUp, name).toEqual([]);
  }
});

test("cache_poison_across_caps: what is in the cache needs the capability as well", async () => {
  const { port, requests } = await serve(answering("x"));
  const { get } = await openWeb({ names: { "a.test": ["127.0.0.1"] }, allowAddresses: [`a.test:${port}`] });
  const url = `http://a.test:${port}/x`;
  expect(await get(url, { capabilities: ["net:a.test"] })).toMatchObject({ ok: true });
  expect(await get(url, { capabilities: [] })).toMatchObject({ ok: false, error: { code: "policy.denied" } });
  expect(await get(url, { capabilities: ["net:a.test"] })).toMatchObject({ ok: true, output: { from_cache: true } });
  expect(requests).toHaveLength(1);
});

test("redirect_cross_domain_header_leak: the hop is denied, and nothing is sent there", async () => {
  const evil = await serve(answering("evil"));
  const { port } = await serve(redirecting(`http://evil.test:${evil.port}/`));
  const { get, lookedUp } = await openWeb({
    names: { "huggingface.test": ["127.0.0.1"], "evil.test": ["127.0.0.1"] },
    allowAddresses: [`huggingface.test:${port}`, `evil.test:${evil.port}`],
  });
  for (const capabilities of [["net:huggingface.test"], ["net"]]) {
    expect(await get(`http://huggingface.test:${port}/r`, { capabilities })).toMatchObject({
      ok: false,
      error: { code: "policy.denied", message: expect.stringContaining(`http://evil.test:${evil.port}/`) },
    });
  }
  expect(evil.requests).toHaveLength(0);
  expect(lookedUp).not.toContain("evil.test");
});

describe("loopback, link-local and metadata addresses", () => {
  const places = ["127.0.0.1", "[::1]", "169.254.169.254", "localhost", "metadata.google.internal", "[fe80::1]"];

  test.each(places)("%s stays closed, whatever is granted", async (host) => {
    const connects = countConnects();
    const { get } = await openWeb({ names: { localhost: ["127.0.0.1"] } });
    for (const capabilities of [["net"], ["net", `net:${host}`]]) {
      for (const allowDomains of [null, [host]]) {
        const answer = await get(`http://${host}/`, { capabilities, allowDomains });
        expect(answer).toMatchObject({ ok: false, error: { code: "policy.denied" } });
      }
    }
    expect(connects()).toBe(0);
  });

  test("what the operator lists is open, that host on that port", async () => {
    const { place, port, requests } = await serve(answering("listed"));
    const { get } = await openWeb({ names: { localhost: ["127.0.0.1"] }, allowAddresses: [place] });
    expect(await get(`http://${place}/`)).toMatchObject({ ok: true, output: { text: "listed" } });
    expect(await get(`http://localhost:${port}/`)).toMatchObject({ ok: false });
    expect(await get(`http://${place}/`, { capabilities: [] })).toMatchObject({ ok: false });
    expect(requests).toHaveLength(1);
  });
});

verifies(
  "S-4.4/allowlist",
  "http.get reaches a host by net or net:<domain> only; a global allowlist binds net alone",
  async () => {
    const { port } = await serve(answering("x"));
    const names = { "a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"], "sub.a.test": ["127.0.0.1"] };
    const allowAddresses = Object.keys(names).map((name) => `${name}:${port}`);
    const { get } = await openWeb({ names, allowAddresses, ttlS: 0 });
    const reaches = async (host: string, capabilities: readonly string[], allowDomains: readonly string[] | null) => {
      const answer = await get(`http://${host}:${port}/`, { capabilities, allowDomains });
      if (!answer.ok) expect(answer.error.code).toBe("policy.denied");
      return answer.ok;
    };
    for (const [host, capabilities, allowDomains, expected] of [
      ["a.test", [], null, false],
      ["a.test", ["net"], null, true],
      ["a.test", ["net:a.test"], null, true],
      ["b.test", ["net:a.test"], null, false],
      ["sub.a.test", ["net:a.test"], null, false],
      ["a.test", ["net"], ["a.test"], true],
      ["b.test", ["net"], ["a.test"], false],
      ["b.test", ["net"], [], false],
      ["b.test", ["net", "net:b.test"], ["a.test"], true],
      ["A.TEST.", ["net:a.test"], null, true],
    ] as const) {
      expect(await reaches(host, capabilities, allowDomains), `${host} ${capabilities} ${allowDomains}`).toBe(expected);
    }
  },
);
