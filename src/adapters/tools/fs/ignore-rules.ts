/**
 * Which entries a search skips, by the .gitignore files above them. Deeper rules win. A rule that cannot be parsed ignores
 * nothing, since the files come from the workspace.
 */
import ignore, { type Ignore } from "ignore";

export interface IgnoreRules {
  /** The directory of the rules, relative to the workspace: empty, or with a slash at its end. */
  readonly base: string;
  readonly rules: Ignore;
  readonly above: IgnoreRules | null;
}

export function addRules(above: IgnoreRules | null, base: string, text: string): IgnoreRules {
  return { base, rules: ignore().add(text), above };
}

/** `path` is relative to the workspace; a directory's ends with a slash. */
export function isIgnored(rules: IgnoreRules | null, path: string): boolean {
  for (let level = rules; level !== null; level = level.above) {
    const { ignored, unignored } = verdictOf(level, path);
    if (ignored || unignored) return ignored;
  }
  return false;
}

function verdictOf(
  { base, rules }: IgnoreRules,
  path: string,
): { readonly ignored: boolean; readonly unignored: boolean } {
  try {
    return rules.test(path.slice(base.length));
  } catch (error) {
    if (error instanceof SyntaxError) return { ignored: false, unignored: false };
    throw error;
  }
}
