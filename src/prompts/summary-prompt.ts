/** The system prompts of a compaction, and of the summary of a tool's output. */
import { type PromptFile, promptFile } from "./prompt-file.ts";

export function getSummaryPrompt(): PromptFile {
  return promptFile("SUMMARY_PROMPT_V1");
}

export function getOutputSummaryPrompt(): PromptFile {
  return promptFile("OUTPUT_SUMMARY_PROMPT_V1");
}
