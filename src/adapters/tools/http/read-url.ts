/**
 * Parses a URL once, by the URL standard and stricter rules: display, policy, dialling and cache all use this one
 * result, never the text. Refused is what URL parsers disagree about: a user or password, a percent sign in the host,
 * backslashes, blanks and invisible characters. A host has one spelling, and there is no fragment, since servers never
 * receive one.
 */
import { ToolFailure } from "../tool-failure.ts";

export interface TargetUrl {
  readonly href: string;
  readonly origin: string;
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
/** After the standard's parser, only IPv4 addresses look like this. */
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

export function readUrl(text: string): TargetUrl {
  if (!SCHEME.test(text)) {
    throw new ToolFailure("tool.input_invalid", "Not a complete URL: write it as https://host/path.", {
      details: { url: shortened(text) },
    });
  }
  return parse({ text, subject: "The URL", base: null });
}

export function readRedirect(location: string, base: TargetUrl): TargetUrl {
  return parse({ text: location, subject: `The redirect of ${base.href}`, base: base.href });
}

interface Reading {
  readonly text: string;
  readonly subject: string;
  readonly base: string | null;
}

function parse(reading: Reading): TargetUrl {
  const { text, base } = reading;
  refuseAmbiguous(reading);
  const url = base === null ? URL.parse(text) : URL.parse(text, base);
  if (url === null) throw denied(reading, "has no valid host: check the spelling");
  url.hash = "";
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  const host = url.hostname;
  const isIpv6 = host.startsWith("[");
  if (!isIpv6 && (host.length > MAX_HOST_CHARS || !HOST_NAME.test(host))) {
    throw denied(reading, "has an invalid host name: use letters, digits, hyphens and single dots");
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
    throw denied(reading, "contains a blank, a backslash or an invisible character: percent-encode it");
  }
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "http" && scheme !== "https") {
    throw denied(reading, "is neither http nor https: only those can be fetched");
  }
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === "" || (scheme !== undefined && authority === undefined))
    throw denied(reading, "has no host: write it as https://host/path");
  if (authority?.includes("@")) throw denied(reading, "contains a user or a password: leave out the part before the @");
  if (authority?.includes("%")) throw denied(reading, "has a percent sign in its host: write the host unencoded");
}

function denied({ text, subject }: Reading, problem: string): ToolFailure {
  return new ToolFailure("policy.denied", `${subject} ${problem}.`, { details: { url: shortened(text) } });
}

function shortened(text: string): string {
  return text.slice(0, MAX_SHOWN_CHARS).toWellFormed();
}
