/**
 * Does a tool pattern of a policy or a required effect name this tool? A pattern is an exact name, a namespace as
 * `fs.*` (not `fsx.read`, `fs` or `fs.`), or `*`. A star anywhere else is an ordinary character, and letter case
 * counts.
 */
export function matchesTool(pattern: string, tool: string): boolean {
  if (pattern === "*") return true;
  if (!pattern.endsWith(".*")) return pattern === tool;
  const namespace = pattern.slice(0, -1);
  return tool.startsWith(namespace) && tool.length > namespace.length;
}
