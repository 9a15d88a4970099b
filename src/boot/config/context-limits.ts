/** The limits of each agent: the seeds', and what `agents.<id>.context` and `agents.<id>.maxTurns` say instead. */
import { DEFAULT_LIMITS, type LimitsOf } from "../../assistant/context/context-limits.ts";
import type { Config } from "./config.ts";

export function contextLimits({ agents }: Pick<Config, "agents">): LimitsOf {
  return (agentId) => {
    const { context = {}, maxTurns } = agents[agentId] ?? {};
    return { ...DEFAULT_LIMITS, ...context, ...(maxTurns === undefined ? {} : { maxTurns }) };
  };
}
