/** Vercel's AI SDK: `generateText` with a tool. It keeps nothing. */
import { loaderFrom, measurePeer, promptFor, readNote, SYSTEM } from "./agent-loop.ts";

interface Ai {
  generateText(options: object): Promise<unknown>;
  stepCountIs(count: number): unknown;
  jsonSchema(schema: object): unknown;
  tool(definition: object): unknown;
}
interface Compatible {
  createOpenAICompatible(options: object): (model: string) => unknown;
}

await measurePeer(async (setting) => {
  const load = loaderFrom(setting.packages);
  const { generateText, stepCountIs, jsonSchema, tool } = (await load("ai")) as Ai;
  const { createOpenAICompatible } = (await load("@ai-sdk/openai-compatible")) as Compatible;
  const model = createOpenAICompatible({ name: "bench", baseURL: setting.baseUrl })("scripted");
  const readText = tool({
    description: "Read the beginning of a text file in the workspace.",
    inputSchema: jsonSchema({ type: "object", properties: { path: { type: "string" } }, required: ["path"] }),
    execute: ({ path }: { readonly path: string }) => readNote(setting, path),
  });
  return async (turns) => {
    const prompt = { system: SYSTEM, prompt: promptFor(turns) };
    await generateText({ model, ...prompt, tools: { fs__read_text: readText }, stopWhen: stepCountIs(turns + 1) });
  };
});
