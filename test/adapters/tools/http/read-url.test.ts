import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRedirect, readUrl } from "../../../../src/adapters/tools/http/read-url.ts";
import { ToolFailure } from "../../../../src/adapters/tools/tool-failure.ts";

function refusalOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof ToolFailure) return error.code;
    throw error;
  }
  return "read";
}

describe("one spelling", () => {
  test.each([
    ["HTTPS://Example.ORG", "https://example.org/", "example.org", 443],
    ["http://example.org:80/a?b=c#d", "http://example.org/a?b=c", "example.org", 80],
    ["http://example.org.:8080/", "http://example.org:8080/", "example.org", 8080],
    ["https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC", "xn--bcher-kva.example", 443],
    ["http://EXAMPLE.org/", "http://example.org/", "example.org", 80],
    ["http://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80],
    ["http://0177.0.0.1/", "http://127.0.0.1/", "127.0.0.1", 80],
    ["http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1", 80],
    ["http://127。0。0。1/", "http://127.0.0.1/", "127.0.0.1", 80],
    ["http://127.0.0.1./", "http://127.0.0.1/", "127.0.0.1", 80],
    ["http://[0:0::1]:81/", "http://[::1]:81/", "[::1]", 81],
  ])("%s", (text, href, host, port) => {
    expect(readUrl(text)).toMatchObject({ href, host, port });
  });

  test("an address is distinguished from a name", () => {
    expect(readUrl("http://0x7f000001/").address).toBe("127.0.0.1");
    expect(readUrl("http://[::1]/").address).toBe("::1");
    expect(readUrl("http://1.2.3.4.example.org/").address).toBeNull();
  });
});

describe("refused", () => {
  test.each([
    "ftp://example.org/",
    "file:///etc/passwd",
    "data:text/html,x",
    "javascript:alert(1)",
    "gopher://example.org/",
    "localhost:8080/x",
    "http:example.org",
    "http:/example.org",
    "http:///example.org",
    "http://",
    "http://?x",
    "http:\\\\example.org",
    "http://example.org\\@127.0.0.1/",
    "http://user@example.org/",
    "http://user:secret@example.org/",
    "http://@example.org/",
    "http://:@example.org/",
    "http://example.org%2f@127.0.0.1/",
    "http://%6c%6f%63%61lhost/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1",
    "http://exa mple.org/",
    "http://example.org/a b",
    " http://example.org/",
    "http://example.org/\n",
    "ht\ttp://example.org/",
    "http://exam\u200bple.org/",
    "http://exam\u00adple.org/",
    "http://example.org/\u202egpj.exe",
    "http://example.org/\ufe0f",
    "http://example.org/\ud800",
    "http://example..org/",
    "http://.example.org/",
    "http://example.org../",
    "http://-example.org/",
    "http://exa*mple.org/",
    "http://256.0.0.1/",
    "http://1.2.3.4.5/",
    "http://0x.example.0x/",
    "http://example.org:99999/",
    `http://${"a".repeat(64)}.org/`,
    `http://${"a.".repeat(127)}org/`,
    `http://example.org/${"a".repeat(5000)}`,
  ])("%j", (text) => {
    expect(["policy.denied", "tool.input_invalid"]).toContain(refusalOf(() => readUrl(text)));
  });

  test("what is no whole URL is wrong input, not forbidden", () => {
    for (const text of ["", "example.org/x", "//example.org/", "/x", "?"]) {
      expect(refusalOf(() => readUrl(text))).toBe("tool.input_invalid");
    }
  });
});

describe("redirects", () => {
  const base = readUrl("https://example.org/a/b?c");

  test.each([
    ["/x", "https://example.org/x"],
    ["x", "https://example.org/a/x"],
    ["?d#e", "https://example.org/a/b?d"],
    ["//other.org/x", "https://other.org/x"],
    ["http://127.1/", "http://127.0.0.1/"],
  ])("%s", (location, href) => {
    expect(readRedirect(location, base).href).toBe(href);
  });

  test.each([
    "file:///x",
    "//user@other.org/",
    "/\\other.org/",
    "\\\\other.org",
    "https:x",
    "//%6cocalhost/",
    "/\t/x",
    "///x",
  ])("refused: %j", (location) => {
    expect(refusalOf(() => readRedirect(location, base))).toBe("policy.denied");
  });
});

test("what was read is read the same again, and nothing but a failure is thrown", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "http://",
      "https://",
      "@",
      ":",
      "/",
      "\\",
      "%2e",
      "[",
      "]",
      "127.1",
      "0x7f",
      "localhost",
      ".",
      "..",
      "?",
    ),
    fc.string({ maxLength: 6, unit: "binary" }),
    fc.webUrl(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const text = pieces.join("");
      if (refusalOf(() => readUrl(text)) !== "read") return;
      const url = readUrl(text);
      expect(readUrl(url.href)).toEqual(url);
      expect(url.host).toMatch(/^(?:[a-z0-9_.-]+|\[[0-9a-f:]+\])$/);
    }),
    { numRuns: 500 },
  );
});
