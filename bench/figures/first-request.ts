/** Tokens of the first request ("hello", all built-in tools), as OpenAI's own tokenizer (o200k) counts them. */
import { tokenCounterFor } from "../../src/adapters/models/token-counter.ts";
import type { Figure } from "../figure.ts";

export const firstRequestTokens: Figure = {
  name: "tokens",
  measure: async ({ opening }) => {
    const { prepare, count } = tokenCounterFor("gpt-4o");
    await prepare?.();
    const { messages, tools = [] } = opening;
    const said = messages.reduce((sum, { content }) => sum + count(String(content)), 0);
    const offered = tools.reduce((sum, tool) => sum + count(JSON.stringify(tool)), 0);
    return [
      { ...ROW, name: "first request: prompt", value: said, bound: { is: "at most", must: 600 }, note: "o200k" },
      {
        ...ROW,
        name: "first request: tools",
        value: offered,
        bound: { is: "at most", must: 1500 },
        note: `o200k; ${tools.length} tools`,
      },
    ];
  },
};

const ROW = { spread: 0, unit: "tokens" } as const;
