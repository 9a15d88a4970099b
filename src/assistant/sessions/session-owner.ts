/** Whose a session is. A caller that speaks for one sender sees that one's direct sessions, and no others. */
import type { Sender } from "../../runtime/operations/operation.ts";
import type { NewSession } from "../../runtime/ports/stored-session.ts";
import { isDirectKey } from "./session-key.ts";

type Owned = Pick<NewSession, "key" | "channel" | "senderId">;

/** Null: it belongs to several, or to a run. */
export function ownerOf({ key, channel, senderId }: Owned): Sender | null {
  return isDirectKey(key) ? { channel, senderId } : null;
}

/** `sender` null: the caller may see all. */
export function maySee(sender: Sender | null, owner: Sender | null): boolean {
  if (sender === null) return true;
  return owner !== null && owner.channel === sender.channel && owner.senderId === sender.senderId;
}

/** In a group or room others hear too, and no token says who its members are. */
export function maySpeak(sender: Sender | null, as: Sender, isGroup: boolean): boolean {
  return sender === null || (maySee(sender, as) && !isGroup);
}
