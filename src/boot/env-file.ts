/**
 * The grammar of `.env`: which variables does the file name, or which line is wrong?
 *
 * E1. A line is blank, a comment, or `NAME=VALUE` with an optional `export` before it; anything else is an error with
 *     its line number. A line is never quoted in an error, since it may hold a key.
 * E2. 'single quotes' are literal; "double quotes" know \n, \r, \t, \\ and \"; without quotes the value ends before ` #`.
 * E3. Nothing is expanded: `$` is an ordinary character.
 * E4. A name given twice is an error, as one of the two is not what the writer believes.
 */
type EnvFileVerdict =
  | { readonly ok: true; readonly variables: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly line: number; readonly problem: string };

const ASSIGNMENT = /^(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)$/;
const REST_AFTER_QUOTE = /^[ \t]*(?:#.*)?$/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", "\\": "\\", '"': '"' };

export function parseEnvFile(text: string): EnvFileVerdict {
  const variables = new Map<string, string>();
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const refuse = (problem: string): EnvFileVerdict => ({ ok: false, line: index + 1, problem });
    const [, name, raw] = ASSIGNMENT.exec(trimmed) ?? [];
    if (name === undefined || raw === undefined) return refuse("not of the form NAME=VALUE");
    if (variables.has(name)) return refuse(`${name} is given a second time`);
    const value = readValue(raw);
    if (value === null) return refuse(`the quotes of ${name} do not close, or something follows them`);
    if (/[\0\r]/.test(value) && !raw.startsWith('"')) return refuse(`${name} holds a control character`);
    variables.set(name, value);
  }
  return { ok: true, variables };
}

function readValue(raw: string): string | null {
  const quote = raw.charAt(0);
  if (quote === "'") {
    const end = raw.indexOf("'", 1);
    return end > 0 && REST_AFTER_QUOTE.test(raw.slice(end + 1)) ? raw.slice(1, end) : null;
  }
  if (quote === '"') {
    const [whole, inner] = /^"((?:[^"\\]|\\.)*)"/.exec(raw) ?? [];
    if (whole === undefined || inner === undefined || !REST_AFTER_QUOTE.test(raw.slice(whole.length))) return null;
    return inner.replace(/\\(.)/g, (written, letter: string) => ESCAPES[letter] ?? written);
  }
  return raw.replace(/(?:^|[ \t]+)#.*$/, "").trimEnd();
}
