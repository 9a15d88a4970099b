/** The end of a run, as it goes to the channel of its sender: part of the transaction that seals the run. */
import type { Write } from "../ports/store.ts";
import type { RunEnd, RunPorts } from "../run-ports.ts";
import type { Acceptance } from "./acceptance.ts";

export function replyWrites(
  { reply }: Pick<Acceptance, "reply">,
  end: RunEnd,
  createdAt: string,
  presentEnding: RunPorts["presentEnding"],
): readonly Write[] {
  if (reply === undefined) return [];
  const { channel, recipient, channelClass } = reply;
  const { runId } = end;
  // Mail goes out by a person's decision (P-2.4).
  const state = channelClass === "external_email" ? "waiting_approval" : "waiting";
  const delivery = {
    id: `reply_${runId}`,
    channel,
    recipient,
    text: presentEnding(end),
    runId,
    createdAt,
    state,
  } as const;
  return [{ type: "insert-outbox", delivery }];
}
