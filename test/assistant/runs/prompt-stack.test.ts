import { expect, test } from "vitest";
import { PromptTexts } from "../../../src/assistant/runs/prompt-stack.ts";
import type { RegisteredTool } from "../../../src/runtime/ports/toolbox.ts";

const tool = (name: string): RegisteredTool => ({
  name,
  risk: "read_only",
  description: `does ${name}`,
  parameters: {},
});
const [READ, WRITE] = [tool("fs.read_text"), tool("fs.write_text")];
const byLength = (text: string): number => text.length;
const byWords = (text: string): number => text.split(" ").length;

test("what is remembered of the last prompt is not told of another one", () => {
  let prompt: string | null = null;
  const texts = new PromptTexts(() => prompt);
  const stacked = (tools: readonly RegisteredTool[], count: (text: string) => number, from = texts) =>
    from.stack("main", [], tools, count).prompt;
  const anew = (tools: readonly RegisteredTool[], count: (text: string) => number) =>
    stacked(tools, count, new PromptTexts(() => prompt));
  for (const own of [null, "be brief", "be long", null]) {
    prompt = own;
    for (const tools of [[READ], [READ], [READ, WRITE], [WRITE], [], [READ]]) {
      for (const count of [byLength, byWords, byLength]) expect(stacked(tools, count)).toEqual(anew(tools, count));
    }
  }
});
