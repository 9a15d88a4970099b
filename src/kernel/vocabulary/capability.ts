/**
 * Capabilities (S-1.1): `net`, or `net:<domain>` for one domain in its one spelling. Text is never trimmed or folded to
 * fit, and there are no wildcards. Addresses are not domains: a host that ends in a number is an IPv4 address in some
 * notation, and IPv6 literals do not fit the grammar. Neither can be granted, nor can localhost.
 */
import type { Branded } from "./identifiers.ts";

export type Capability = Branded<"Capability">;

const DOMAIN_PREFIX = "net:";
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** The URL standard's rule: a last label like this makes the whole host an IPv4 address, or nothing at all. */
const NUMBER = /^([0-9]+|0x[0-9a-f]*)$/;
const LOCAL_NAMES: readonly string[] = ["localhost", "localdomain", "ip6-localhost", "ip6-loopback"];
const MAX_DOMAIN_CHARS = 253;

export function parseCapability(text: string): Capability | null {
  if (text === "net") return text as Capability;
  if (!text.startsWith(DOMAIN_PREFIX)) return null;
  return isGrantableDomain(text.slice(DOMAIN_PREFIX.length)) ? (text as Capability) : null;
}

function isGrantableDomain(domain: string): boolean {
  const labels = domain.split(".");
  const last = labels[labels.length - 1] ?? "";
  return (
    domain.length <= MAX_DOMAIN_CHARS &&
    labels.every((label) => LABEL.test(label)) &&
    !NUMBER.test(last) &&
    !LOCAL_NAMES.includes(last)
  );
}
