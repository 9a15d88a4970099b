/**
 * The one reader of the environment: variables by name, from the process and from `.env` in the home.
 *
 * V1. The process's own variables win over the file's.
 * V2. The file's variables are kept to ourselves: child processes never inherit them.
 * V3. An empty variable counts as absent.
 */
import { readFile } from "node:fs/promises";
import manifest from "../../package.json" with { type: "json" };
import { BootError, systemCodeOf } from "./boot-error.ts";

export type ReadVariable = (name: string) => string | undefined;

const MAX_ENV_FILE_BYTES = 256 * 1024;

export const readProcessVariable: ReadVariable = (name) => orAbsent(process.env[name]);

export async function withEnvFile(readVariable: ReadVariable, file: string): Promise<ReadVariable> {
  const text = await readEnvFile(file);
  if (text === null) return readVariable;
  const verdict = parseEnvFile(text);
  if (!verdict.ok) {
    throw new BootError(
      "env.invalid",
      `${file}:${verdict.line}: ${verdict.problem}`,
      'Write one variable a line, as NAME=value or NAME="value"; comments start with #.',
    );
  }
  const { variables } = verdict;
  return (name) => readVariable(name) ?? orAbsent(variables.get(name));
}

async function readEnvFile(file: string): Promise<string | null> {
  try {
    const bytes = await readFile(file);
    if (bytes.length > MAX_ENV_FILE_BYTES) throw unreadable(file, `it is larger than ${MAX_ENV_FILE_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof BootError) throw error;
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw unreadable(file, code ?? "it is not UTF-8", error);
  }
}

function unreadable(file: string, why: string, cause?: unknown): BootError {
  return new BootError(
    "env.unreadable",
    `${file} cannot be read (${why})`,
    "It must be a small UTF-8 text file that you may read; move it away to go on without it.",
    { cause },
  );
}

function orAbsent(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

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

/**
 * Text from outside the process whose bytes were no UTF-8: whoever started us has put U+FFFD in their place.
 *
 * A text that truly holds U+FFFD looks the same by then, and is refused too: what was meant cannot be known, and a home, a
 * file or a message of another name is worse than none.
 */

const LOST_BYTES = "\u{fffd}";

export function assertNothingLost(name: string, text: string): void {
  if (!text.includes(LOST_BYTES)) return;
  throw new BootError(
    "invalid.request",
    `${name} holds U+FFFD, which stands for bytes that were no UTF-8`,
    "Write it in UTF-8; nothing was done.",
  );
}

/**
 * Where the person stands who called us through npm, which runs a script in the package's own directory: what they name on
 * the command line is meant from where they are.
 */

const SCRIPTS: readonly (string | undefined)[] = ["surety", "start"];

/** Null where npm did not start us: then it is the working directory. */
export function callerDirectory(readVariable: ReadVariable): string | null {
  // Another package's script may well call us too, and has its own idea of where it is.
  const isOurs = readVariable("npm_package_name") === manifest.name;
  return isOurs && SCRIPTS.includes(readVariable("npm_lifecycle_event")) ? (readVariable("INIT_CWD") ?? null) : null;
}
