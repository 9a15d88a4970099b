import { parseJson } from "../kernel/vocabulary/parse-json.ts";

/** A result with fields, one below the other; texts of several lines as they were printed. */
export function readableOutput(text: string): string {
  const parsed = parseJson(text);
  if (!parsed.ok || parsed.value === null || typeof parsed.value !== "object" || Array.isArray(parsed.value))
    return text;
  const lines = Object.entries(parsed.value).map(([name, value]) => {
    if (typeof value !== "string") return `${name}: ${JSON.stringify(value)}`;
    return value.includes("\n") ? `${name}:\n${value.replace(/\n$/, "")}` : `${name}: ${value}`;
  });
  return lines.join("\n");
}
