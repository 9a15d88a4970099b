/**
 * Globs as people and models write them: `*.ts`, `src/**`, `*.{ts,tsx}`. A glob is a .gitignore rule plus braces: without
 * a slash it matches at any depth, and a directory matches everything in it.
 */
import ignore from "ignore";

const MAX_ALTERNATIVES = 64;
const BRACES = /^(.*?)\{([^{}]*)\}(.*)$/s;

export function globMatcher(glob: string): (path: string) => boolean {
  if (glob === "") return () => true;
  const rules = ignore().add(expandBraces(glob).map(asRule));
  return (path) => rules.ignores(path);
}

function expandBraces(glob: string): readonly string[] {
  let expanded: readonly string[] = [glob];
  while (expanded.length <= MAX_ALTERNATIVES && expanded.some((one) => BRACES.test(one))) {
    expanded = expanded.flatMap((one) => {
      const [, before, inside, after] = BRACES.exec(one) ?? [];
      return inside === undefined ? [one] : inside.split(",").map((part) => `${before}${part}${after}`);
    });
  }
  return expanded;
}

/** A leading `!` or `#` is special in a rule but not in a glob; a leading `./` is redundant. */
function asRule(glob: string): string {
  const rule = glob.replace(/^\.\//, "/");
  return /^[!#]/.test(rule) ? `\\${rule}` : rule;
}
