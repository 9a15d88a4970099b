/**
 * The last bytes of an answer, for a client that may be slow to read.
 *
 * A long text is written in pieces, each once the client has taken the one before it. A client that takes nothing for
 * half a minute is disconnected, so that an unread answer is not held forever.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../runtime/ports/clock.ts";

const PIECE_BYTES = 256 * 1024;
const DEADLINE_MS = 30_000;

export async function endWith(outgoing: ServerResponse, content: string | Uint8Array, clock: Clock): Promise<void> {
  if (content.length <= PIECE_BYTES) {
    end(outgoing, content, clock);
    return;
  }
  await writeAll(outgoing, typeof content === "string" ? Buffer.from(content) : content, clock);
  end(outgoing, "", clock);
}

/** Returns once the client has room for more. */
export async function writeAll(outgoing: ServerResponse, bytes: Uint8Array, clock: Clock): Promise<void> {
  for (let at = 0; at < bytes.length && !outgoing.destroyed; at += PIECE_BYTES) {
    if (!outgoing.write(bytes.subarray(at, at + PIECE_BYTES))) await drained(outgoing, clock);
  }
}

function end(outgoing: ServerResponse, rest: string | Uint8Array, clock: Clock): void {
  outgoing.end(rest);
  // Mostly all of it went to the socket at once: no timer is needed.
  if (outgoing.writableFinished || outgoing.destroyed) return;
  outgoing.once("close", startDeadline(outgoing, clock));
}

function drained(outgoing: ServerResponse, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = startDeadline(outgoing, clock);
    const settle = (): void => {
      cancel();
      outgoing.off("drain", settle).off("close", settle);
      resolve();
    };
    outgoing.on("drain", settle).on("close", settle);
  });
}

function startDeadline(outgoing: ServerResponse, clock: Clock): () => void {
  return clock.wake(DEADLINE_MS, () => outgoing.destroy());
}
