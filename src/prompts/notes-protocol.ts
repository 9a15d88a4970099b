/** How a model writes NOTES (S-2), for conversations that go on. Answers may quote it: it is no secret. */
import { type PromptFile, promptFile } from "./prompt-file.ts";

export function getNotesProtocol(): PromptFile {
  return promptFile("NOTES_PROTOCOL_V1");
}
