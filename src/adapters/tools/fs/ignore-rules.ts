/**
 * Which entries a search passes over, by the .gitignore files on the way down to them.
 *
 * G1. The rules of a file hold for the directory it is in and all beneath; those further down win over those further up.
 * G2. They come from the workspace, so they may be anything: what cannot be understood ignores nothing.
 */
import ignore, { type Ignore } from "ignore";

export interface IgnoreRules {
  /** Of the directory the rules are in: relative to the workspace, with a slash at its end, or empty. */
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
