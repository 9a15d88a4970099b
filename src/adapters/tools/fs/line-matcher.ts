/**
 * What a search looks for, line by line.
 *
 * M1. Where the first match in a line begins, or -1. A line has no line end.
 * M2. `bytes`, where there are any, stand in every file that has a match: most files are passed over by that alone.
 * M3. A regular expression may take any time it likes: whoever uses this can be stopped (`search-thread.ts`).
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
  if (/[\r\n]/.test(pattern)) throw invalid("holds a line end, and lines are searched one by one");
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
    // Many escape more than the strict grammar lets them, as in `\-`. What that means, the other grammar knows.
    return compileLoosely(source, flags);
  }
}

function compileLoosely(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    throw invalid(`is no regular expression: ${cause instanceof Error ? cause.message : ""}`, cause);
  }
}

function invalid(problem: string, cause?: unknown): ToolFailure {
  return new ToolFailure("tool.input_invalid", `fs.search: pattern ${problem}.`, { cause });
}
