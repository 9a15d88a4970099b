/** Which session alone may be given what a run remembers. */
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { Store } from "../ports/store.ts";

/** A conversation with someone outside keeps to itself (its key lasts over `/new`); null: every session of this machine. */
export async function memoryOwner(
  store: Pick<Store, "findSession">,
  sessionId: SessionId,
  channelClass: ChannelClass,
): Promise<string | null> {
  if (channelClass === "cli_local") return null;
  return (await store.findSession(sessionId))?.key ?? sessionId;
}
