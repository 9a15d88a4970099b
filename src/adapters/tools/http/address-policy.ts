/**
 * Which addresses may be dialled on the agent's behalf: public ones, whatever was granted.
 *
 * A1. An address is public when it is global unicast and no special range claims it: not loopback, private, link-local,
 *     shared (CGNAT), multicast, reserved, for documentation or benchmarks, nor where a cloud keeps its metadata.
 * A2. An IPv6 address that carries an IPv4 address is judged by that one where the carrier is in use (mapped, NAT64), and
 *     refused where it is not (compatible, 6to4, Teredo, ISATAP).
 * A3. Names that mean something only inside a network are refused by name, before anybody is asked what they mean.
 * A4. Ports are those of the web.
 * A5. The operator's exceptions lift A1 to A4 for one host, as it stands in the URL, on one port, and for nothing else: a
 *     name that leads to a listed address is not listed. An exception that is no `host:port` lifts nothing.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { ToolFailure } from "../tool-failure.ts";
import { readUrl, type TargetUrl } from "./read-url.ts";

export interface AddressPolicy {
  /** Throws what can be said without looking up a name. */
  checkUrl(url: TargetUrl): void;
  /** What to dial for an address that the URL's name leads to, in its one spelling; throws when it may not be. */
  vetAddress(url: TargetUrl, address: string): string;
}

const WEB_PORTS: readonly number[] = [80, 443];
const LOCAL_DOMAINS: readonly string[] = [
  ...["localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa"],
];
/** Of the clouds' own services the one at a public address (Azure). */
const CLOUD_SERVICE = "168.63.129.16";

export function createAddressPolicy(allowAddresses: readonly string[]): AddressPolicy {
  const listed = new Set(allowAddresses.map(readEntry));
  const isListed = (url: TargetUrl): boolean => listed.has(placeOf(url));
  return {
    checkUrl(url) {
      if (isListed(url)) return;
      if (url.address === null ? isLocalName(url.host) : !isPublic(url.address)) throw notPublic(url, "is not public");
      if (!WEB_PORTS.includes(url.port)) throw wrongPort(url);
    },
    vetAddress(url, address) {
      if (isIP(address) === 0) throw notPublic(url, "leads to no address");
      // Where the machine really is stays out of the message: it may be what somebody wants to find out.
      if (!isListed(url) && !isPublic(address)) throw notPublic(url, "leads to an address that is not public");
      return ipaddr.parse(address).toString();
    },
  };
}

function readEntry(entry: string): string | null {
  if (!/:\d+$/.test(entry)) return null;
  try {
    return placeOf(readUrl(`http://${entry}/`));
  } catch (error) {
    if (error instanceof ToolFailure) return null;
    throw error;
  }
}

function placeOf({ host, port }: TargetUrl): string {
  return `${host}:${port}`;
}

function isLocalName(host: string): boolean {
  return !host.includes(".") || LOCAL_DOMAINS.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

function isPublic(text: string): boolean {
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast" && address.toString() !== CLOUD_SERVICE;
  const carried = carriedIpv4(address);
  if (carried !== null) return isPublic(carried);
  const [first = 0] = address.parts;
  const isGlobal = first >> 13 === 1;
  return isGlobal && address.range() === "unicast" && !isIsatap(address.parts);
}

function carriedIpv4(address: ipaddr.IPv6): string | null {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  const isNat64 = address.match(ipaddr.IPv6.parse("64:ff9b::"), 96);
  return isNat64 ? address.toByteArray().slice(12).join(".") : null;
}

/** Its interface is 0000:5efe, whatever it says of itself: one owner or many, unique or not (the u and g bits). */
function isIsatap([, , , , fifth = 0, sixth]: readonly number[]): boolean {
  return (fifth & ~0x300) === 0 && sixth === 0x5efe;
}

function notPublic(url: TargetUrl, problem: string): ToolFailure {
  return refused(url, `${url.host} ${problem}, and only public addresses are reached, whatever is granted`);
}

function wrongPort(url: TargetUrl): ToolFailure {
  return refused(url, `Port ${url.port} is not one of the web's (${WEB_PORTS.join(", ")})`);
}

function refused(url: TargetUrl, problem: string): ToolFailure {
  const place = placeOf(url);
  return new ToolFailure(
    "policy.denied",
    `${problem}. The operator can list ${place} in tools.http.allowAddresses to make an exception.`,
    { details: { host: url.host, port: url.port } },
  );
}
