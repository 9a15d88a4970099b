/**
 * The posting half of the guarded fetch: to one URL, which the operator configured and may therefore be on this machine.
 * The name is looked up once, and only the vetted addresses are dialled.
 */
import { ChannelError } from "../../../runtime/ports/channel.ts";
import type { OutboundPost } from "../../../runtime/ports/outbound-post.ts";
import { errnoOf } from "../fs/fs-failure.ts";
import { ToolFailure } from "../tool-failure.ts";
import { createAddressPolicy } from "./address-policy.ts";
import { fetchFailure, type Resolve, systemResolve } from "./guarded-fetch.ts";
import { pinnedPost } from "./pinned-get.ts";
import { readUrl } from "./read-url.ts";

/** Failures before anything of the request was sent. */
const BEFORE_SENDING =
  /^(?:ECONNREFUSED|EACCES|EPERM|E(?:HOST|NET)UNREACH|EADDRNOTAVAIL|ENOTFOUND|ENODATA|EAI_\w+|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$|CERT|^ERR_(?:TLS|SSL)_|^EPROTO$|^UNABLE_TO_|^INVALID_CA$|^HOSTNAME_MISMATCH$/;

export function createGuardedPost(target: string, resolve: Resolve = systemResolve): OutboundPost {
  const url = readUrl(target);
  const policy = createAddressPolicy([`${url.host}:${url.port}`]);
  return async ({ headers, body, signal }) => {
    signal.throwIfAborted();
    try {
      const found = url.address === null ? await resolve(url.host) : [url.address];
      const addresses = found.map((address) => policy.vetAddress(url, address));
      if (addresses.length === 0) throw new ToolFailure("invalid.request", `${url.host} has no address.`);
      return { status: await pinnedPost(url, addresses, headers, body, signal) };
    } catch (error) {
      throw postFailure(error, url.host);
    }
  };
}

function postFailure(cause: unknown, host: string): ChannelError {
  if (cause instanceof ToolFailure) return new ChannelError("channel.unavailable", cause.message, { cause });
  const wasSent = !BEFORE_SENDING.test(errnoOf(cause) ?? "");
  const why = fetchFailure(cause, host)?.message ?? `${host} did not take the request.`;
  return new ChannelError(wasSent ? "channel.unknown" : "channel.unavailable", why, { cause });
}
