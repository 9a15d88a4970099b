/**
 * Does a tool pattern of a policy or a required effect name this tool?
 *
 * T1. A pattern is a tool's exact name, a namespace as `fs.*`, or `*`. A star anywhere else is an ordinary character.
 * T2. A namespace ends at a dot: `fs.*` names `fs.read_text` and `fs.a.b`, but neither `fsx.read` nor `fs` nor `fs.`.
 * T3. Letter case counts, and no regular expression is ever made from a pattern.
 */
export function matchesTool(pattern: string, tool: string): boolean {
  if (pattern === "*") return true;
  if (!pattern.endsWith(".*")) return pattern === tool;
  const namespace = pattern.slice(0, -1);
  return tool.startsWith(namespace) && tool.length > namespace.length;
}
