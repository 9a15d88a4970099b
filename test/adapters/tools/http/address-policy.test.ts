import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAddressPolicy } from "../../../../src/adapters/tools/http/address-policy.ts";
import { readUrl } from "../../../../src/adapters/tools/http/read-url.ts";
import { ToolFailure } from "../../../../src/adapters/tools/tool-failure.ts";

const policy = createAddressPolicy([]);
const site = readUrl("https://example.org/");

function isRefused(check: () => unknown): boolean {
  try {
    check();
  } catch (error) {
    if (error instanceof ToolFailure && error.code === "policy.denied") return true;
    throw error;
  }
  return false;
}
const isClosed = (address: string): boolean => isRefused(() => policy.vetAddress(site, address));

describe("closed", () => {
  test.each([
    ...[
      "0.0.0.0",
      "0.1.2.3",
      "127.0.0.1",
      "127.255.255.254",
      "10.0.0.1",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
    ],
    ...["169.254.0.1", "169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "100.127.255.255"],
    ...["192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1"],
    ...["203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16"],
    ...["::", "::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "fc00::1", "fd00::1", "fd00:ec2::254", "ff02::1"],
    ...["100::1", "2001:db8::1", "3fff::1", "2001:2::1", "2001:10::1", "2001:20::1", "5f00::1", "4000::1", "8000::1"],
    ...[
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::ffff:0:7f00:1",
      "::7f00:1",
      "::127.0.0.1",
      "::808:808",
      "64:ff9b::7f00:1",
      "64:ff9b::a00:1",
    ],
    ...["64:ff9b:1::808:808", "2002:7f00:1::", "2002:808:808::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    ...["2a00::100:5efe:7f00:1", "2a00::300:5efe:7f00:1"],
    ...["2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1", "not an address", "", "1.2.3", "example.org"],
  ])("%s", (address) => {
    expect(isClosed(address)).toBe(true);
  });
});

describe("open", () => {
  test.each([
    ...["8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1"],
    ...["2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "64:ff9b::808:808", "2a00::400:5efe:7f00:1"],
  ])("%s", (address) => {
    expect(policy.vetAddress(site, address)).toBe(address);
  });

  test("what is dialled has one spelling", () => {
    expect(policy.vetAddress(site, "2606:4700:0:0::0:1")).toBe("2606:4700::1");
  });
});

const FORBIDDEN: readonly (readonly [string, number])[] = [
  ...([
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
  ] as const),
  ...([
    ["192.168.0.0", 16],
    ["100.64.0.0", 10],
    ["198.18.0.0", 15],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ] as const),
];

const forbiddenIpv4 = fc.tuple(fc.constantFrom(...FORBIDDEN), fc.nat(2 ** 32 - 1)).map(([[range, bits], random]) => {
  const start = range.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return start + (random % 2 ** (32 - bits));
});

/** One of the ways to write a number that URLs take. */
const numeral = (value: number) =>
  fc.constantFrom(
    `${value}`,
    `0${value.toString(8)}`,
    `00${value.toString(8)}`,
    `0x${value.toString(16)}`,
    `0X00${value.toString(16)}`,
  );

/** Written in one to four parts, the last of which holds what is left. */
const spelling = (value: number) =>
  fc.integer({ min: 1, max: 4 }).chain((parts) => {
    const octets = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
    const rest = octets.slice(parts - 1).reduce((sum, octet) => sum * 256 + octet, 0);
    const dot = fc.constantFrom(".", "。", ".", "｡");
    return fc
      .tuple(
        fc.tuple(...[...octets.slice(0, parts - 1), rest].map(numeral)),
        fc.array(dot, { minLength: 4, maxLength: 4 }),
      )
      .map(([numerals, dots]) => numerals.map((text, index) => (index === 0 ? text : dots[index] + text)).join(""));
  });

const hex = (value: number): string => value.toString(16);

test("any spelling of a forbidden IPv4 address is refused", () => {
  const spelt = forbiddenIpv4.chain((value) => spelling(value));
  fc.assert(
    fc.property(spelt, fc.constantFrom("", "."), (host, dot) => {
      expect(isRefused(() => policy.checkUrl(readUrl(`http://${host}${dot}/`)))).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test("no IPv6 address that carries a forbidden IPv4 address is open", () => {
  fc.assert(
    fc.property(forbiddenIpv4, (value) => {
      const carried = `${hex(value >>> 16)}:${hex(value & 0xffff)}`;
      for (const address of [
        ...[`::ffff:${carried}`, `::${carried}`, `::ffff:0:${carried}`, `64:ff9b::${carried}`, `64:ff9b:1::${carried}`],
        ...[
          `2002:${carried}::`,
          `2001:0:${carried}::1`,
          `2606:4700::5efe:${carried}`,
          `2606:4700::200:5efe:${carried}`,
        ],
      ]) {
        expect(
          isRefused(() => policy.checkUrl(readUrl(`http://[${address}]/`))),
          address,
        ).toBe(true);
        expect(isClosed(address), address).toBe(true);
      }
    }),
  );
});

describe("names and ports", () => {
  test.each([
    ...["localhost", "LOCALHOST", "localhost.", "a.localhost", "printer", "nas.local", "metadata.google.internal"],
    ...["router.lan", "x.home.arpa", "intranet", "db.corp", "localhost.localdomain"],
  ])("%s is refused before it is looked up", (host) => {
    expect(isRefused(() => policy.checkUrl(readUrl(`http://${host}/`)))).toBe(true);
  });

  test.each(["http://example.org:22/", "https://example.org:8443/", "http://8.8.8.8:53/", "http://example.org:0/"])(
    "%s is refused",
    (url) => {
      expect(isRefused(() => policy.checkUrl(readUrl(url)))).toBe(true);
    },
  );

  test.each(["http://example.org/", "https://example.org/", "http://example.org:443/", "http://8.8.8.8/"])(
    "%s passes",
    (url) => {
      expect(isRefused(() => policy.checkUrl(readUrl(url)))).toBe(false);
    },
  );
});

describe("exceptions", () => {
  const listing = createAddressPolicy([
    "127.0.0.1:8080",
    "Intranet:80",
    "[0:0::1]:443",
    "example.org:8443",
    "nonsense",
    "256.0.0.1:80",
  ]);

  test.each([
    "http://127.0.0.1:8080/",
    "http://2130706433:8080/",
    "http://intranet/",
    "https://[::1]/",
    "https://example.org:8443/",
  ])("%s is open", (text) => {
    const url = readUrl(text);
    expect(isRefused(() => listing.checkUrl(url))).toBe(false);
    expect(listing.vetAddress(url, "10.0.0.1")).toBe("10.0.0.1");
  });

  test.each([
    ...["http://127.0.0.1/", "http://127.0.0.1:8081/", "http://127.0.0.2:8080/", "http://localhost:8080/"],
    ...["http://a.intranet/", "https://intranet/", "http://[::1]/", "http://[::ffff:127.0.0.1]:8080/"],
    ...["https://www.example.org:8443/", "http://nonsense/"],
  ])("%s stays closed", (text) => {
    expect(isRefused(() => listing.checkUrl(readUrl(text)))).toBe(true);
  });

  test("a name that leads to a listed address is not listed", () => {
    expect(isRefused(() => listing.vetAddress(readUrl("http://evil.test/"), "127.0.0.1"))).toBe(true);
    expect(isRefused(() => listing.vetAddress(readUrl("http://evil.test:8080/"), "127.0.0.1"))).toBe(true);
  });

  test("a refusal says what the operator can do, and not where a name leads", () => {
    expect(() => policy.vetAddress(readUrl("http://evil.test/"), "10.1.2.3")).toThrow(
      /add "evil\.test:80" to tools\.http\.allowAddresses/,
    );
    expect(() => policy.vetAddress(readUrl("http://evil.test/"), "10.1.2.3")).not.toThrow(/10\.1\.2\.3/);
  });
});
