/** The base prompt (P-2.2, P-2.3): identified by version and hash, never stored with a run's content. */
import { type PromptFile, promptFile } from "./prompt-file.ts";

export function getBasePrompt(): PromptFile {
  return promptFile("SOPHIE_BASE_PROMPT_V1");
}
