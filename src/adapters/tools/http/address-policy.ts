/**
 * Decides which addresses may be dialled for the agent: public ones only, even with a grant, and web ports only. An
 * IPv6 address that embeds an IPv4 address is classified by that one if the form is in use (mapped, NAT64), and refused
 * otherwise (compatible, 6to4, Teredo, ISATAP).
 * The operator's exceptions lift this for one `host:port` as written in the URL: a name that resolves to a listed
 * address is not listed.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { ToolFailure } from "../tool-failure.ts";
import { readUrl, type TargetUrl } from "./read-url.ts";

export interface AddressPolicy {
  /** Throws if the URL is refused without a name lookup. */
  checkUrl(url: TargetUrl): void;
  /** The canonical form of an address that the URL's name resolves to; throws if it may not be dialled. */
  vetAddress(url: TargetUrl, address: string): string;
}

const WEB_PORTS: readonly number[] = [80, 443];
const LOCAL_DOMAINS: readonly string[] = [
  ...["localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa"],
];
/** Azure's service address, which is in a public range. */
const CLOUD_SERVICE = "168.63.129.16";

export function createAddressPolicy(allowAddresses: readonly string[]): AddressPolicy {
  const listed = new Set(allowAddresses.map(readEntry));
  const isListed = (url: TargetUrl): boolean => listed.has(hostAndPort(url));
  return {
    checkUrl(url) {
      if (isListed(url)) return;
      if (url.address === null ? isLocalName(url.host) : !isPublic(url.address)) throw notPublic(url, "is not public");
      if (!WEB_PORTS.includes(url.port)) throw wrongPort(url);
    },
    vetAddress(url, address) {
      if (isIP(address) === 0) throw notPublic(url, "does not resolve to an address");
      // The message does not reveal the address, which may be what the call wants to learn.
      if (!isListed(url) && !isPublic(address)) throw notPublic(url, "resolves to an address that is not public");
      return ipaddr.parse(address).toString();
    },
  };
}

function readEntry(entry: string): string | null {
  if (!/:\d+$/.test(entry)) return null;
  try {
    return hostAndPort(readUrl(`http://${entry}/`));
  } catch (error) {
    if (error instanceof ToolFailure) return null;
    throw error;
  }
}

function hostAndPort({ host, port }: TargetUrl): string {
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

/** The interface identifier is 0000:5efe, whatever its u and g bits. */
function isIsatap([, , , , fifth = 0, sixth]: readonly number[]): boolean {
  return (fifth & ~0x300) === 0 && sixth === 0x5efe;
}

function notPublic(url: TargetUrl, problem: string): ToolFailure {
  return refused(url, `${url.host} ${problem}; only public addresses can be reached, even with a grant`);
}

function wrongPort(url: TargetUrl): ToolFailure {
  return refused(url, `Port ${url.port} is not a web port (${WEB_PORTS.join(", ")})`);
}

function refused(url: TargetUrl, problem: string): ToolFailure {
  const address = hostAndPort(url);
  return new ToolFailure("policy.denied", `${problem}. To allow it, add "${address}" to tools.http.allowAddresses.`, {
    details: { host: url.host, port: url.port },
  });
}
