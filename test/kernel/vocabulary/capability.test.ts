import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseCapability } from "../../../src/kernel/vocabulary/capability.ts";

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,5}[a-z0-9])?$/);

describe("parseCapability", () => {
  test.each([
    "net",
    "net:huggingface.co",
    "net:a",
    "net:1e100.net",
    "net:127.0.0.1.example.com",
    "net:xn--bcher-kva.example",
    "net:localhost.example.com",
    "net:0x7f.example",
    "net:example.x0",
    "net:example.0xg",
    "net:my-localhost",
    `net:${"a".repeat(63)}.com`,
    `net:${`${"a".repeat(49)}.`.repeat(5)}com`,
  ])("%s can be granted, as it is", (text) => {
    expect(parseCapability(text)).toBe(text);
  });

  test.each([
    ["", "nothing"],
    ["ne", "another word"],
    ["nett", "another word"],
    ["NET", "capitals"],
    [" net", "white space"],
    ["net ", "white space"],
    ["net\n", "white space"],
    ["net:", "no domain"],
    ["net:net:example.com", "a second colon"],
    ["fs:example.com", "another area"],
    ["net:Example.com", "capitals"],
    ["net:exämple.com", "beyond ASCII"],
    ["net:a_b.com", "an underscore"],
    ["net:example.com/x", "a path"],
    ["net:example.com:443", "a port"],
    ["net:user@example.com", "a user"],
    ["net:*", "a wildcard"],
    ["net:*.example.com", "a wildcard"],
    ["net:.example.com", "an empty label"],
    ["net:example..com", "an empty label"],
    ["net:example.com.", "a trailing dot"],
    ["net:.", "empty labels"],
    ["net:-", "a hyphen alone"],
    ["net:-a.com", "a leading hyphen"],
    ["net:a-.com", "a trailing hyphen"],
    [`net:${"a".repeat(64)}.com`, "a label too long"],
    [`net:${`${"a".repeat(49)}.`.repeat(5)}comm`, "a domain too long"],
    ["net:127.0.0.1", "IPv4"],
    ["net:127.0.0.1.", "IPv4 with a trailing dot"],
    ["net:127.1", "IPv4, shortened"],
    ["net:2130706433", "IPv4, decimal"],
    ["net:0x7f000001", "IPv4, hex"],
    ["net:0x7f.1", "IPv4, hex and short"],
    ["net:127.0.0.0x1", "IPv4, last part hex"],
    ["net:0x", "IPv4, an empty hex number"],
    ["net:0177.0.0.01", "IPv4, octal"],
    ["net:017700000001", "IPv4, octal"],
    ["net:999.999.999.999", "no address either"],
    ["net:example.1", "ends in a number"],
    ["net:[::1]", "IPv6"],
    ["net:::1", "IPv6"],
    ["net:::ffff:127.0.0.1", "IPv6"],
    ["net:fe80::1%25eth0", "IPv6 with a zone"],
    ["net:localhost", "localhost"],
    ["net:localhost.", "localhost"],
    ["net:LOCALHOST", "localhost"],
    ["net:a.localhost", "below localhost"],
    ["net:localhost.localdomain", "localhost"],
    ["net:ip6-localhost", "localhost"],
    ["net:ip6-loopback", "localhost"],
    ["net:__proto__", "an underscore"],
  ])("%j cannot be granted: %s", (text) => {
    expect(parseCapability(text)).toBeNull();
  });

  test("whatever is accepted keeps to the published grammar and names no number", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.array(fc.oneof(label, fc.string({ maxLength: 3 })))), (input) => {
        const text = typeof input === "string" ? `net:${input}` : `net:${input.join(".")}`;
        const capability = parseCapability(text);
        if (capability === null) return;
        expect(capability).toMatch(/^net(:[a-z0-9.-]+)?$/);
        expect(capability).not.toMatch(/[.:](0x[0-9a-f]*|[0-9]+)$/);
      }),
    );
  });

  test("ordinary domains are accepted", () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), (labels) => {
        fc.pre(!labels.includes("localhost") && !labels.includes("localdomain"));
        expect(parseCapability(`net:${labels.join(".")}`)).toBe(`net:${labels.join(".")}`);
      }),
    );
  });
});
