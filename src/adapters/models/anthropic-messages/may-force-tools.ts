/**
 * Models that cannot be made to call a tool: they think before every answer, and the server refuses such a request
 * (https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5).
 */
const NEVER_FORCED = /^claude-(?:opus-5-5|fable-5-1)(?:-|$)/;

export function mayForceTools(model: string): boolean {
  return !NEVER_FORCED.test(model);
}
