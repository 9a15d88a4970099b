/**
 * Is this a sed script that only prints? A small grammar that every sed reads the same way; whatever is not in it may
 * be one of `e`, `w`, `r`, or a flag of `s` that executes or writes.
 *
 * A bracket expression may hold neither the delimiter nor a backslash: seds disagree on where such an `s` ends.
 */
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:\[[^\]/\\]*\]|\\.|[^/\\[])+/I?)`;
const PREFIX = String.raw`(?:${ADDRESS}(?:,(?:${ADDRESS}|\+\d+))?\s*(?:!\s*)?)?`;
/** A delimiter by its name, and what stands between two of them. */
const DELIMITER = "(?<mark>[/|#,:@%])";
const PART = String.raw`(?:\[(?:(?!\k<mark>)[^\]\\])*\]|\\.|(?!\k<mark>)[^\\[])*`;
const SUBSTITUTION = String.raw`[sy]${DELIMITER}${PART}\k<mark>${PART}\k<mark>[gpiI\d]*`;
const COMMAND = new RegExp(String.raw`\s*${PREFIX}(?:${SUBSTITUTION}|[=dDgGhHlnNpPxqQ])\s*(?:;|$)`, "uy");

export function isPlainSedScript(script: string): boolean {
  let index = 0;
  while (index < script.length) {
    COMMAND.lastIndex = index;
    const [matched] = COMMAND.exec(script) ?? [];
    if (matched === undefined) return false;
    index += matched.length;
  }
  return script !== "";
}
