/**
 * From the text of a URL to what would be asked of whom: parsed once, by the URL standard, under stricter rules.
 *
 * U1. What is shown, decided about, dialled and cached is this one reading; the text is never looked at again.
 * U2. http and https only, written with `//`. No user or password, not even an empty one; no percent sign in the host,
 *     no zone; no backslash, blank or character that nobody sees anywhere. Readers of URLs disagree about all of those.
 * U3. A host has one spelling: lower case, punycode, no dot at its end. However an IPv4 address is written (decimal,
 *     octal, hex, shortened, with other digits or dots), it is four decimal numbers here.
 * U4. There is no fragment: no server is ever sent one.
 */
import { ToolFailure } from "../tool-failure.ts";

export interface TargetUrl {
  readonly href: string;
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  /** A name, or an address; an IPv6 address in brackets. */
  readonly host: string;
  /** The host, where it is an address; without brackets. */
  readonly address: string | null;
  readonly port: number;
  readonly isSecure: boolean;
}

const MAX_CHARS = 4096;
const MAX_SHOWN_CHARS = 256;
const MAX_HOST_CHARS = 253;
const AMBIGUOUS = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\\]/u;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
const AUTHORITY = /^(?:https?:)?\/\/([^/?#]*)/i;
const HOST_NAME = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
/** The standard's parser leaves no other host that looks like this. */
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

export function readUrl(text: string): TargetUrl {
  if (!SCHEME.test(text)) {
    throw new ToolFailure("tool.input_invalid", "That is no whole URL: write it as https://host/path.", {
      details: { url: shortened(text) },
    });
  }
  return parse({ text, subject: "The URL", base: null });
}

/** Where a server says to go instead, perhaps relative to `base`. */
export function readRedirect(location: string, base: TargetUrl): TargetUrl {
  return parse({ text: location, subject: `The place ${base.href} redirects to`, base: base.href });
}

interface Reading {
  readonly text: string;
  /** What a refusal calls it. */
  readonly subject: string;
  readonly base: string | null;
}

function parse(reading: Reading): TargetUrl {
  const { text, base } = reading;
  refuseAmbiguous(reading);
  const url = base === null ? URL.parse(text) : URL.parse(text, base);
  if (url === null) throw denied(reading, "has no host that could be reached: check how it is written");
  url.hash = "";
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  const host = url.hostname;
  const isIpv6 = host.startsWith("[");
  if (!isIpv6 && (host.length > MAX_HOST_CHARS || !HOST_NAME.test(host))) {
    throw denied(reading, "has a host that is no host name: letters, digits, hyphens and single dots make one");
  }
  const isSecure = url.protocol === "https:";
  return {
    href: url.href,
    origin: url.origin,
    path: url.pathname + url.search,
    host,
    address: isIpv6 ? host.slice(1, -1) : IPV4.test(host) ? host : null,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    isSecure,
  };
}

function refuseAmbiguous(reading: Reading): void {
  const { text } = reading;
  if (text.length > MAX_CHARS) throw denied(reading, `is longer than ${MAX_CHARS} characters`);
  if (AMBIGUOUS.test(text)) {
    throw denied(reading, "holds a blank, a backslash or a character that nobody sees: write those percent-encoded");
  }
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "http" && scheme !== "https") {
    throw denied(reading, "is neither http nor https, and nothing else can be fetched");
  }
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === "" || (scheme !== undefined && authority === undefined))
    throw denied(reading, "names no host: write it as https://host/path");
  if (authority?.includes("@")) throw denied(reading, "holds a user or a password: leave out what stands before the @");
  if (authority?.includes("%")) throw denied(reading, "has a percent sign in its host: write the host as it is");
}

function denied({ text, subject }: Reading, problem: string): ToolFailure {
  return new ToolFailure("policy.denied", `${subject} ${problem}.`, { details: { url: shortened(text) } });
}

function shortened(text: string): string {
  return text.slice(0, MAX_SHOWN_CHARS).toWellFormed();
}
