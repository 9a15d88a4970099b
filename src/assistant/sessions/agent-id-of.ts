const DEFAULT_AGENT = "main";

/** `agent_default` is what the seeds call it. */
export function agentIdOf(asked: string | undefined): string {
  return asked === undefined || asked === "agent_default" ? DEFAULT_AGENT : asked;
}
