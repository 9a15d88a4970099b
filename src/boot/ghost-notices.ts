/**
 * Says at a terminal what the shadow loop noticed, while a conversation is open there. Asked for every few seconds, and only
 * where the loop is enabled: a stream would report a gateway that is away, which is the conversation's to say.
 */
import type { OperationClient } from "../assistant/operations.ts";
import type { WireGhost } from "../assistant/shadow/wire-ghost.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { pause } from "../runtime/ports/clock.ts";

const EVERY_MS = 2_000;

export async function followGhosts(
  operations: Pick<OperationClient, "call">,
  {
    clock,
    signal,
    say,
  }: {
    readonly clock: Pick<Clock, "wake">;
    readonly signal: AbortSignal;
    readonly say: (line: string) => void;
  },
): Promise<void> {
  const said = new Set<string>();
  while (!signal.aborted) {
    const listed = await operations.call("ghosts.list", { state: "open" }).catch(() => null);
    const ghosts = listed?.ok === true ? listed.value.ghosts : [];
    for (const ghost of ghosts.toReversed()) {
      if (said.has(ghost.id)) continue;
      said.add(ghost.id);
      for (const line of linesOf(ghost)) say(line);
    }
    await pause(clock, EVERY_MS, signal);
  }
}

/** How a ghost is shown at a terminal. */
export function linesOf({ id, trigger, observation, proposal, actions, state, run_id }: WireGhost): readonly string[] {
  const labels = actions.filter(({ type }) => type !== "dismiss").map(({ label }) => JSON.stringify(label));
  const next =
    state === "open"
      ? `surety shadow act ${id} ${labels.join(" | ")}, or surety shadow dismiss ${id}`
      : `${state}${run_id === null ? "" : `: ${run_id}`}`;
  return [trigger, `  ${observation} ${proposal}`, `  ${next}`];
}
