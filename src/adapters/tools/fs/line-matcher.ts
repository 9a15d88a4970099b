/**
 * Matches a search pattern line by line: the index of the first match in a line, or -1. A regular expression may run
 * forever: callers must be able to stop it (`search-thread.ts`).
 */
import { ToolFailure } from "../tool-failure.ts";

const MAX_PATTERN_CHARS = 1_000;

export interface LineMatcher {
  readonly bytes: Buffer | null;
  indexIn(line: string): number;
}

export interface Pattern {
  readonly pattern: string;
  readonly regex: boolean;
  readonly ignoreCase: boolean;
}

export function lineMatcher({ pattern, regex, ignoreCase }: Pattern): LineMatcher {
  if (pattern.length > MAX_PATTERN_CHARS) throw invalid(`is longer than ${MAX_PATTERN_CHARS} characters`);
  if (/[\r\n]/.test(pattern)) throw invalid("contains a line end, but lines are searched one by one");
  if (!regex && !ignoreCase) return { bytes: Buffer.from(pattern), indexIn: (line) => line.indexOf(pattern) };
  const expression = compile(regex ? pattern : literal(pattern), ignoreCase ? "i" : "");
  return { bytes: null, indexIn: (line) => line.search(expression) };
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function compile(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    // The strict grammar rejects needless escapes such as `\-`; the lenient one accepts them.
  }
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    throw invalid(`is not a regular expression: ${cause instanceof Error ? cause.message : ""}`, cause);
  }
}

function invalid(problem: string, cause?: unknown): ToolFailure {
  return new ToolFailure("tool.input_invalid", `fs.search: pattern ${problem}.`, { cause });
}
