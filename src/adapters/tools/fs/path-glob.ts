/**
 * A glob as people and models write it: `*.ts`, `src/**`, `*.{ts,tsx}`. It is a rule of .gitignore with braces: without
 * a slash it holds at any depth, and a directory it names stands for all that is in it.
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

/** `!` and `#` mean something at the beginning of a rule, and nothing in a glob; `./` is where it begins anyway. */
function asRule(glob: string): string {
  const rule = glob.replace(/^\.\//, "/");
  return /^[!#]/.test(rule) ? `\\${rule}` : rule;
}
