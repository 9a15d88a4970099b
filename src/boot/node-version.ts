/** Does this Node run Surety? Checked before loading anything that an older Node cannot parse. */
/** As `engines` in package.json says. */
export const OLDEST_NODE = "24.16.0";

/** The error to print; null when the version will do. */
export function nodeProblem(version: string): string | null {
  return isBefore(version, OLDEST_NODE)
    ? `error node.too-old: Surety needs Node ${OLDEST_NODE} or newer; this is ${version}.
Install a newer Node. In a clone, "npm run surety" uses its own.
`
    : null;
}

function isBefore(version: string, other: string): boolean {
  const [ours, theirs] = [version, other].map((each) => each.split(".").map(Number));
  const at = theirs?.findIndex((part, index) => part !== (ours?.[index] ?? 0)) ?? -1;
  return at !== -1 && (ours?.[at] ?? 0) < (theirs?.[at] ?? 0);
}
