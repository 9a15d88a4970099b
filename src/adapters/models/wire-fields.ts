/** Fields of the providers' JSON. Values of another type than the one asked for read as missing. */
import { encodeToolName, isToolName } from "../../kernel/protocol/tool-names.ts";
import type { ModelUsage } from "../../runtime/ports/model-backend.ts";

const MAX_TOKENS = 2 ** 31;
const MAX_TOOL_NAME_CHARS = 64;

export function fieldsOf(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** Null unless the text is a JSON object. */
export function parseFields(text: string): Record<string, unknown> | null {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return null;
  }
}

export function entriesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Null if a count is impossible; the reservation then counts instead. Some providers count cached input separately. */
export function readUsage(inputs: readonly unknown[], outputTokens: unknown): ModelUsage | null {
  if (!inputs.every(isTokenCount) || !isTokenCount(outputTokens)) return null;
  const inputTokens = inputs.reduce((sum, count) => sum + count, 0);
  return isTokenCount(inputTokens) ? { inputTokens, outputTokens } : null;
}

function isTokenCount(count: unknown): count is number {
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 && count <= MAX_TOKENS;
}

/** A tool name that the model made up is sent back as close to it as the wire allows, so that it sees its mistake. */
export function wireToolName(tool: string): string {
  if (isToolName(tool)) return encodeToolName(tool);
  return tool.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_TOOL_NAME_CHARS) || "_";
}
