/**
 * What the process gets from outside: environment variables, the home's `.env`, and the directory the user called from.
 *
 * V1. The process's own variables win over the file's, and an empty variable counts as absent.
 * V2. Child processes never inherit the file's variables.
 */
import { homedir } from "node:os";
import manifest from "../../package.json" with { type: "json" };
import { BootError } from "./boot-error.ts";
import { readBoundedFile, UnreadableFile } from "./read-bounded-file.ts";

export interface ReadVariable {
  (name: string): string | undefined;
  /** The `.env` that belongs to it, as the user would write its path. */
  readonly envFile?: string;
  /** What it holds, also where the process's own variables win. */
  readonly fileVariables?: ReadonlyMap<string, string>;
  /** The same with `.env` as it is by then; absent: without an `.env`. */
  readonly readAgain?: () => Promise<ReadVariable>;
}

const MAX_ENV_FILE_BYTES = 256 * 1024;

export const readProcessVariable: ReadVariable = (name) => orAbsent(process.env[name]);

export async function withEnvFile(readVariable: ReadVariable, file: string): Promise<ReadVariable> {
  const envFile = file.startsWith(`${homedir()}/`) ? `~${file.slice(homedir().length)}` : file;
  const text = (await readEnvFile(file)) ?? "";
  const verdict = parseEnvFile(text);
  if (!verdict.ok) {
    throw new BootError(
      "env.invalid",
      `${file}:${verdict.line}: ${verdict.problem}`,
      'Write one variable a line, as NAME=value or NAME="value"; comments start with #.',
    );
  }
  const { variables } = verdict;
  return Object.assign((name: string) => readVariable(name) ?? orAbsent(variables.get(name)), {
    envFile,
    fileVariables: variables,
    readAgain: () => withEnvFile(readVariable, file),
  });
}

async function readEnvFile(file: string): Promise<string | null> {
  try {
    const bytes = await readBoundedFile(file, MAX_ENV_FILE_BYTES);
    return bytes === null ? null : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw unreadable(file, "it is not UTF-8", error);
    if (error.why === "ENOTDIR") return null;
    throw unreadable(file, error.why, error);
  }
}

function unreadable(file: string, why: string, cause: unknown): BootError {
  return new BootError(
    "env.unreadable",
    `${file} cannot be read (${why})`,
    "It must be a small, readable UTF-8 text file. Fix it, or move it away to continue without it.",
    { cause },
  );
}

function orAbsent(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

/**
 * The grammar of `.env`.
 *
 * E1. A line is blank, a comment, or `NAME=VALUE` with an optional `export` before it. An error gives the line's number and
 *     never quotes the line, which may hold a key.
 * E2. 'single quotes' are literal; "double quotes" know \n, \r, \t, \\ and \"; an unquoted value ends before ` #`.
 * E3. Nothing is expanded: `$` is an ordinary character.
 * E4. A name given twice is an error.
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
    if (name === undefined || raw === undefined) return refuse("expected NAME=VALUE");
    if (variables.has(name)) return refuse(`${name} is set twice`);
    const value = readValue(raw);
    if (value === null) return refuse(`the quotes of ${name} are not closed, or text follows them`);
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
 * Refuses text that holds U+FFFD: the system puts it in place of bytes that are not UTF-8, so the name that was meant is
 * lost, and acting on another file or home is worse than failing.
 */
export function assertUtf8(name: string, text: string): void {
  if (!text.includes("\u{fffd}")) return;
  throw new BootError("invalid.request", `${name} is not valid UTF-8`, "Write it in UTF-8. Nothing was done.");
}

const SCRIPTS: readonly (string | undefined)[] = ["surety", "start"];

/**
 * npm runs a script in the package's own directory; paths on the command line are relative to where the user called npm.
 * Null when npm did not start us.
 */
export function callerDirectory(readVariable: ReadVariable): string | null {
  // Scripts of other packages may call us too: their working directory is right.
  const isOurs = readVariable("npm_package_name") === manifest.name;
  return isOurs && SCRIPTS.includes(readVariable("npm_lifecycle_event")) ? (readVariable("INIT_CWD") ?? null) : null;
}
