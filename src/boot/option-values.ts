/** The options somebody gave, read by the type they were declared with. */
import { Defect } from "../kernel/vocabulary/defect.ts";
import { usageError } from "./boot-error.ts";

export interface OptionValues {
  flag(name: string): boolean;
  text(name: string): string | undefined;
  texts(name: string): readonly string[];
  /** A usage error when it is no whole number within the bounds. */
  integer(name: string, range: IntegerRange): number | undefined;
}

export interface IntegerRange {
  readonly least: number;
  readonly most: number;
  /** What somebody might well mean. */
  readonly example: number;
}

export function optionValues(
  declared: ReadonlySet<string>,
  given: ReadonlyMap<string, readonly string[]>,
): OptionValues {
  const texts = (name: string): readonly string[] => {
    if (!declared.has(name)) throw new Defect(`option --${name} was never declared`);
    return given.get(name) ?? [];
  };
  return {
    flag: (name) => texts(name).length > 0,
    text: (name) => texts(name).at(-1),
    texts,
    integer: (name, { least, most, example }) => {
      const text = texts(name).at(-1);
      if (text === undefined) return undefined;
      const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (number >= least && number <= most) return number;
      throw usageError(
        `--${name} must be a whole number from ${least} to ${most}`,
        `Write it in digits, such as --${name} ${example}.`,
      );
    },
  };
}
