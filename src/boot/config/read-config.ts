/**
 * From the text of `surety.json5` to a Config, or to everything that is wrong with it. Pure.
 *
 * R1. A config is accepted whole or not at all.
 * R2. Every problem names the file and, if known, line and path; none quotes a value.
 * R3. Secrets come first among the problems.
 */
import JSON5 from "json5";
import type * as z from "zod/mini";
import { checkIdentities } from "./check-identities.ts";
import { checkModels } from "./check-models.ts";
import type { Config, PolicySettings } from "./config.ts";
import { type ConfigPath, printPath, valueAt } from "./config-path.ts";
import type { ConfigProblem, Finding } from "./config-problem.ts";
import { ConfigSchema, PolicySchema } from "./config-schema.ts";
import { DEFAULT_CONFIG } from "./default-config.ts";
import { explainIssue } from "./explain-issue.ts";
import { inspectValues } from "./inspect-values.ts";
import { lineAt, MAX_DEPTH, type Outline, outlineOf } from "./json5-outline.ts";
import { withKnownProviders } from "./known-providers.ts";
import { looksSecret } from "./looks-secret.ts";

type Problems = readonly [ConfigProblem, ...ConfigProblem[]];
type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: Problems };
type ConfigVerdict =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: Problems };

const MAX_CONFIG_CHARS = 1024 * 1024;
const MAX_PATH_CHARS = 200;

export function readConfig(text: string, file: string): ConfigVerdict {
  const reading = read(text, file, ConfigSchema, (written) => [
    ...checkModels(withKnownProviders(written)),
    ...checkIdentities(written),
    ...checkTimeouts(written),
  ]);
  return reading.ok ? { ok: true, config: withKnownProviders(reading.value) } : reading;
}

/** A usual time above the most that any call gets would never apply. The default is limited like a tool's own time. */
function checkTimeouts({ tools: { timeoutMs, maxTimeoutMs } }: Pick<Config, "tools">): readonly Finding[] {
  if (timeoutMs <= maxTimeoutMs || timeoutMs === DEFAULT_CONFIG.tools.timeoutMs) return [];
  const what = `must be at most tools.maxTimeoutMs (${maxTimeoutMs})`;
  return [
    { code: "config.invalid", path: ["tools", "timeoutMs"], what, hint: "Lower it, or raise tools.maxTimeoutMs." },
  ];
}

/** The policy of a file that holds the `tools.policy` object alone, or a config with a key `tools`. */
export function readPolicyFile(text: string, file: string): Reading<PolicySettings> {
  const parsed = text.length > MAX_CONFIG_CHARS ? null : parse(text, file);
  if (parsed?.ok !== true || valueAt(parsed.value, ["tools"]) === undefined)
    return read(text, file, PolicySchema, () => []);
  const verdict = readConfig(text, file);
  return verdict.ok ? { ok: true, value: verdict.config.tools.policy } : verdict;
}

function read<T>(
  text: string,
  file: string,
  schema: z.ZodMiniType<T>,
  check: (value: T) => readonly Finding[],
): Reading<T> {
  if (text.length > MAX_CONFIG_CHARS)
    return refuse(syntaxProblem(file, null, `is larger than ${MAX_CONFIG_CHARS} characters`));
  const parsed = parse(text, file);
  if (!parsed.ok) return parsed;
  const inspected = inspectValues(parsed.value);
  const isTooDeep = inspected.some(({ path }) => path.length >= MAX_DEPTH);
  const outline = isTooDeep ? null : outlineOf(text);
  const result = schema.safeParse(parsed.value);
  const issues = result.error?.issues ?? [];
  const findings = [
    ...inspected.toSorted((a, b) => Number(b.code === "config.secret") - Number(a.code === "config.secret")),
    ...(outline === null ? [] : findRepeats(outline, [])),
    ...issues.flatMap((issue) => explainIssue(issue, parsed.value, schema)),
    ...(result.success ? check(result.data) : []),
  ];
  const [first, ...others] = withoutEchoes(findings).map((finding) => place(finding, text, file, outline));
  if (first !== undefined) return { ok: false, problems: [first, ...others] };
  return result.success ? { ok: true, value: result.data } : refuse(syntaxProblem(file, null, "cannot be read"));
}

function parse(text: string, file: string): Reading<unknown> {
  try {
    return { ok: true, value: JSON5.parse<unknown>(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError) || !("lineNumber" in error) || !("columnNumber" in error)) throw error;
    const [line, column] = [Number(error.lineNumber), Number(error.columnNumber)];
    // The library's message quotes the bad character, which may be part of a key.
    if (column === 0) return refuse(syntaxProblem(file, line - 1, "has a string that does not end on its line"));
    const isCutOff = error.message.includes("end of input");
    return refuse(syntaxProblem(file, line, isCutOff ? "ends too early" : `is not valid JSON5 at column ${column}`));
  }
}

/** Keys given twice in one object: the library silently keeps the last. */
function findRepeats({ kind, members }: Outline, path: ConfigPath): readonly Finding[] {
  const seen = new Set<string>();
  return members.flatMap(({ key, value }) => {
    const inside = findRepeats(value, [...path, key]);
    const isRepeat = kind === "object" && seen.has(key);
    seen.add(key);
    if (!isRepeat) return inside;
    return [
      { code: "config.invalid", path: [...path, key], what: "is given twice", hint: "Keep one of the two." },
      ...inside,
    ];
  });
}

/** Keeps the first finding for each path, and drops paths that lead through a secret: their parent was refused. */
function withoutEchoes(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Set<string>();
  return findings.filter(({ path }) => {
    const name = printPath(path);
    const isNew = !seen.has(name) && !path.some(looksSecret);
    seen.add(name);
    return isNew;
  });
}

function place(finding: Finding, text: string, file: string, outline: Outline | null): ConfigProblem {
  const { code, what, hint } = finding;
  const path = printPath(finding.path);
  const offset = outline === null ? null : offsetOf(outline, finding.path);
  const line = offset === null ? null : lineAt(text, offset);
  const where = line === null ? file : `${file}:${line}`;
  const shown = path.length > MAX_PATH_CHARS ? `${path.slice(0, MAX_PATH_CHARS)}…` : path;
  return { code, path, line, message: `${where}: ${shown === "" ? "the config" : shown} ${what}`, what, hint };
}

/** The offset of the path, or of its last existing step; of repeated keys the last. */
function offsetOf(outline: Outline, path: ConfigPath): number {
  const [step, ...rest] = path;
  const member = outline.members.findLast(({ key }) => key === step);
  if (member === undefined) return outline.start;
  return rest.length === 0 ? member.keyStart : offsetOf(member.value, rest);
}

function syntaxProblem(file: string, line: number | null, what: string): ConfigProblem {
  const where = line === null ? file : `${file}:${line}`;
  return {
    code: "config.syntax",
    path: "",
    line,
    message: `${where}: ${what}`,
    what,
    hint: "Fix it, or move it away to use the defaults.",
  };
}

function refuse(problem: ConfigProblem): { readonly ok: false; readonly problems: Problems } {
  return { ok: false, problems: [problem] };
}
