/**
 * How much a run's model is asked to think.
 *
 * L1. The first wish counts: of the request, then of the agent, for a delegated run of its parent; else what the model is
 *     configured with.
 * L2. A model that cannot be told is told nothing, whoever wished for something: that is no error.
 */
import type { ThinkingLevel } from "../kernel/vocabulary/thinking-level.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";

export function thinkingLevelFor(
  { thinking }: Pick<ConfiguredModel, "thinking">,
  wishes: readonly (ThinkingLevel | null | undefined)[],
): ThinkingLevel | null {
  if (thinking === undefined) return null;
  return wishes.find((wish) => wish !== undefined && wish !== null) ?? thinking.level;
}
