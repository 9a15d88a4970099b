/**
 * What the demo model does about a fetch that was denied for want of a capability: it asks, in NOTES (S-2.3).
 *
 * P1. Asking is all it can do: an operator decides.
 * P2. It asks for the one host it was told to fetch, and for nothing that cannot be granted.
 */
import { NOTES_BEGIN, NOTES_END } from "../../../kernel/protocol/markers.ts";
import { type Capability, parseCapability } from "../../../kernel/vocabulary/capability.ts";
import { textOf } from "../read-fields.ts";
import type { FormattedCall } from "./tell-result.ts";

/** As policy words it when a host is not granted. */
const NOT_GRANTED = /"error":"policy\.denied: [^"]*host that is not granted/;

/** Said after the answer, and seen by nobody but the runtime; empty when nothing is to be asked for. */
export function requestsFor(calls: readonly FormattedCall[]): string {
  const actions = calls.flatMap((call) => {
    const capability = lackingCapability(call);
    return capability === null ? [] : [`request_permission:${capability}`];
  });
  return actions.length === 0 ? "" : `\n${NOTES_BEGIN}${JSON.stringify({ actions })}${NOTES_END}`;
}

function lackingCapability({ tool, args, result }: FormattedCall): Capability | null {
  if (tool !== "http.get" || !NOT_GRANTED.test(result)) return null;
  const url = URL.parse(textOf(args["url"]));
  return url === null ? null : parseCapability(`net:${url.hostname.replace(/\.$/, "")}`);
}
