/** Whether Surety runs on this Node: asked before anything is loaded that an older one cannot even read. */

/** As `engines` in package.json says. */
export const OLDEST_NODE = "24.16.0";

/** What a person whose Node is too old is told; null when it will do. */
export function nodeProblem(version: string): string | null {
  return isBefore(version, OLDEST_NODE)
    ? `error node.too-old: Surety needs Node ${OLDEST_NODE} or newer, and this is ${version}.
Install a newer one; in a clone, "npm run surety" brings its own.
`
    : null;
}

function isBefore(version: string, other: string): boolean {
  const [ours, theirs] = [version, other].map((each) => each.split(".").map(Number));
  const at = theirs?.findIndex((part, index) => part !== (ours?.[index] ?? 0)) ?? -1;
  return at !== -1 && (ours?.[at] ?? 0) < (theirs?.[at] ?? 0);
}
