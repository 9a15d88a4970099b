/** The prompt as the machine knows it: a head over everything appended, and how many tokens that is. */
import { promptHead } from "../journal/body.ts";
import { type Turn, update } from "./turn.ts";

export function extendPrompt(turn: Turn, item: string, tokens: number): Turn {
  const { prompt } = turn.state;
  return update(turn, { prompt: { head: promptHead(prompt.head, [item]), tokens: prompt.tokens + tokens } });
}
