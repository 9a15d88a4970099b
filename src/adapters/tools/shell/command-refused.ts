/** A command that is never run, whoever approves it: one reason, and what to do instead. */
import { ToolFailure } from "../tool-failure.ts";

export function commandRefused(problem: string): ToolFailure {
  return new ToolFailure("policy.denied", `Not run: ${problem}.`);
}

/** For a message: whole words of people, a beginning of anything longer. */
export function quoted(word: string): string {
  return JSON.stringify(word.length <= 64 ? word : `${word.slice(0, 64).toWellFormed()}…`);
}
