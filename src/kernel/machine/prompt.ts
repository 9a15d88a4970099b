/** The prompt as the machine knows it: a head over everything appended, and how many tokens that is. */
import { hashCanonical } from "../vocabulary/hash.ts";
import { type Turn, update } from "./turn.ts";

export function extendPrompt(turn: Turn, item: string, tokens: number): Turn {
  const { prompt } = turn.state;
  return update(turn, { prompt: { head: hashCanonical([prompt.head, item]), tokens: prompt.tokens + tokens } });
}
