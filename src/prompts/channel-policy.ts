/** What a model reads about the channel that its answer goes to (P-2.4). The runtime enforces it, whatever the model makes of it. */
import type { ChannelClass } from "../kernel/vocabulary/risk.ts";
import { type PromptFile, promptFile } from "./prompt-file.ts";

const POLICIES: Readonly<Record<ChannelClass, string>> = {
  cli_local: "CHANNEL_CLI_LOCAL_V1",
  external_message: "CHANNEL_EXTERNAL_MESSAGE_V1",
  external_email: "CHANNEL_EXTERNAL_EMAIL_V1",
};

export function getChannelPolicy(channelClass: ChannelClass): PromptFile {
  return promptFile(POLICIES[channelClass]);
}
