/** What is wrong with a config, where, and what to do. It never holds a value or a secret. */
import { BootError } from "../boot-error.ts";
import type { ConfigPath } from "./config-path.ts";

export type ConfigProblemCode = "config.syntax" | "config.unknown-key" | "config.invalid" | "config.secret";

/** A problem before its place in the text is known. */
export interface Finding {
  readonly code: ConfigProblemCode;
  readonly path: ConfigPath;
  /** Continues a sentence that begins with the path: "must be a number". */
  readonly what: string;
  readonly hint: string;
}

export interface ConfigProblem {
  readonly code: ConfigProblemCode;
  /** Such as `gateway.port`; empty for the whole config. */
  readonly path: string;
  readonly line: number | null;
  /** One line, with file, line and path. */
  readonly message: string;
  /** The end of that line: it continues a sentence that begins with the path. */
  readonly what: string;
  readonly hint: string;
}

/** Shows the first problem in full: the others may follow from it. */
export function toBootError([first, ...others]: readonly [ConfigProblem, ...ConfigProblem[]]): BootError {
  const rest = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return new BootError(first.code, `${first.message}${rest}`, first.hint);
}
