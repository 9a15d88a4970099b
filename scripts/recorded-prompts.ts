/** What a provider is asked when its answers are recorded: little, and nothing about anybody. */
import type { ModelRequest, PromptMessage } from "../src/runtime/ports/model-backend.ts";

export interface RecordedPrompt {
  readonly name: string;
  readonly request: Omit<ModelRequest, "model">;
  readonly isStreamed: boolean;
}

const READ = {
  name: "fs.read_text",
  description: "Reads a text file.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  },
} as const;

const ask = (content: string): readonly PromptMessage[] => [{ role: "user", content }];
const base = { tools: [], toolChoice: "none", maxOutputTokens: 1_024 } as const;
const withTool = { ...base, tools: [READ], toolChoice: "auto" } as const;
const READ_ONE = "Read the file a.txt with your tool.";

export const RECORDED_PROMPTS: readonly RecordedPrompt[] = [
  { name: "text-document", request: { ...base, messages: ask("Say hello in three words.") }, isStreamed: false },
  { name: "text-stream", request: { ...base, messages: ask("Say hello in three words.") }, isStreamed: true },
  { name: "tool-call-document", request: { ...withTool, messages: ask(READ_ONE) }, isStreamed: false },
  { name: "tool-call-stream", request: { ...withTool, messages: ask(READ_ONE) }, isStreamed: true },
  {
    name: "parallel-calls-stream",
    request: { ...withTool, messages: ask("Read a.txt and b.txt with your tool, both at once.") },
    isStreamed: true,
  },
  {
    name: "after-result-stream",
    request: {
      ...withTool,
      messages: [
        ...ask(READ_ONE),
        {
          role: "assistant",
          content: "",
          toolCalls: [{ id: "call_1", tool: READ.name, argumentsText: '{"path":"a.txt"}' }],
        },
        { role: "tool", callId: "call_1", tool: READ.name, content: "It says: seven." },
      ],
    },
    isStreamed: true,
  },
  {
    name: "cut-stream",
    request: { ...base, maxOutputTokens: 16, messages: ask("Count from one to two hundred, in words.") },
    isStreamed: true,
  },
];
