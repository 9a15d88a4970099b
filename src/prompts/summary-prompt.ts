/** The system prompt of a compaction. */
import { type PromptFile, promptFile } from "./prompt-file.ts";

export function getSummaryPrompt(): PromptFile {
  return promptFile("SUMMARY_PROMPT_V1");
}
