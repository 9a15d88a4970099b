/** Names of agents: they stand in keys and in paths, also of file systems that take `A` and `a` for one name. */
export const AGENT_ID_PATTERN = "^[a-z0-9][a-z0-9_-]{0,63}$";
const AGENT_ID = new RegExp(AGENT_ID_PATTERN);

export function isAgentId(text: string): boolean {
  return AGENT_ID.test(text);
}
