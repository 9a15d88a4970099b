import { encodeToolName, isToolName } from "../../kernel/protocol/tool-names.ts";

const MAX_NAME_CHARS = 64;

/** A name the model made up goes back as close to what it wrote as the wire allows, for it must see what it did wrong. */
export function wireToolName(tool: string): string {
  if (isToolName(tool)) return encodeToolName(tool);
  return tool.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME_CHARS) || "_";
}
