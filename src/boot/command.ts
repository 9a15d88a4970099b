/**
 * What a command is: one file in `commands/`, one row in `command-catalogue.ts`.
 *
 * C1. `main` has checked the arguments before it calls `run`: none is missing or too many, no flag is unknown.
 * C2. `run` returns an exit code, or nothing for success, or throws a BootError; it prints through `output` and reads no
 *     global.
 * C3. `--home`, `--json` and `--help` belong to every command and are declared by none.
 */
import type { ReadVariable } from "./environment.ts";
import type { Home } from "./home.ts";
import type { Output, Streams } from "./output.ts";

export interface OptionSpec {
  readonly type: "string" | "boolean";
  /** The value's name in usage lines, such as `TOOL`. */
  readonly value?: string;
  readonly summary: string;
  /** May be given several times. */
  readonly multiple?: boolean;
}

export interface OptionValues {
  flag(name: string): boolean;
  text(name: string): string | undefined;
  texts(name: string): readonly string[];
  /** Throws a usage error unless it is a whole number within the bounds. */
  integer(name: string, range: IntegerRange): number | undefined;
}

interface IntegerRange {
  readonly least: number;
  readonly most: number;
  /** A plausible value, for the hint. */
  readonly example: number;
}

export interface Action {
  readonly summary: string;
  /** As in the usage line: `RUN`, `[PATH]` if it is optional, `VALUE...` if the last one may be repeated. */
  readonly arguments?: readonly string[];
  readonly options?: Readonly<Record<string, OptionSpec>>;
  readonly examples: readonly string[];
  /** `--home` without a directory means the usual one: `surety verify --home`. */
  readonly takesBareHome?: boolean;
  run(context: CommandContext): Promise<number> | Promise<void>;
}

/** One action, or a family of them: `runs ls`, `runs show`. */
export type Command = Action | { readonly actions: Readonly<Record<string, Action>> };

export interface CommandContext {
  readonly arguments: readonly string[];
  readonly options: OptionValues;
  /** Located, not opened. */
  readonly home: Home;
  readonly isJson: boolean;
  readonly output: Output;
  readonly streams: Streams;
  /** The process's own variables; `withEnvFile` adds the home's `.env`. */
  readonly readVariable: ReadVariable;
}
