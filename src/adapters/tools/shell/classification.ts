/** What is known of one command from its words alone, and the failure for a command that never runs. */
import { ToolFailure } from "../tool-failure.ts";

export interface Classification {
  /** The arguments as they are executed, with those we add. */
  readonly args: readonly string[];
  /** Why approval is needed; empty if the command only reads. */
  readonly asks: readonly string[];
  readonly paths: readonly string[];
}

/** No approval makes such a command run. */
export function commandRefused(problem: string): ToolFailure {
  return new ToolFailure("policy.denied", `Not run: ${problem}.`);
}

export function quoted(word: string): string {
  return `\`${word.length <= 64 ? word : `${word.slice(0, 64).toWellFormed()}…`}\``;
}
