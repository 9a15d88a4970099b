/**
 * Tokens of the first request ("hello", all built-in tools), by the runtime's own upper bound: a token for every three
 * bytes of UTF-8 and eight for every message. A tokenizer finds about three quarters of it.
 */
import { estimateTokens } from "../../src/runtime/estimate-tokens.ts";
import type { Figure } from "../figure.ts";

export const firstRequestTokens: Figure = {
  name: "tokens",
  measure: ({ opening }) => {
    const { messages, tools = [] } = opening;
    const said = messages.reduce((sum, { content }) => sum + estimateTokens(String(content)), 0);
    const offered = tools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0);
    return Promise.resolve([
      { ...ROW, name: "first request: prompt", value: said, bound: { is: "at most", must: 600 }, note: "upper bound" },
      {
        ...ROW,
        name: "first request: tools",
        value: offered,
        bound: { is: "at most", must: 1500 },
        note: `upper bound; ${tools.length} tools`,
      },
    ]);
  },
};

const ROW = { spread: 0, unit: "tokens" } as const;
