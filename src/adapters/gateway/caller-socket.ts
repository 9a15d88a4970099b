/** What a connection knows of its two ends. */
export interface CallerSocket {
  /** The address that was dialled. */
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
}

/** A proxy that takes requests from elsewhere, encrypted, and hands them on. */
export interface TrustedProxy {
  /** Where its callers reach it: `https://surety.example.org`. */
  readonly url: string;
  /** The addresses it dials from. */
  readonly from: readonly string[];
}

export const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** Without the form in which an IPv6 socket names an IPv4 address. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/, "");
}
