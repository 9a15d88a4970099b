/** The tools that write to people. Without a channel there are none: a prompt names no tool that can only fail. */
import type { Tool } from "../define-tool.ts";
import { messageDraftTool } from "./message-draft.ts";
import { messageSendTool, type SendParts } from "./message-send.ts";

export function messageTools(parts: SendParts): readonly Tool[] {
  return parts.channels.length === 0 ? [] : [messageDraftTool(parts), messageSendTool(parts)];
}
