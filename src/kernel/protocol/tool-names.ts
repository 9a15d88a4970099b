/**
 * Tool names on native protocols, which allow no dot: `fs.read_text` is written `fs__read_text`. A registered name has
 * no doubled, leading or trailing underscore, so the encoding is injective.
 */
import { Defect } from "../vocabulary/defect.ts";

const SEGMENT = "[a-z0-9]+(?:_[a-z0-9]+)*";
const TOOL_NAME = new RegExp(`^${SEGMENT}(?:\\.${SEGMENT})*$`);
const ENCODED_NAME = new RegExp(`^${SEGMENT}(?:__${SEGMENT})*$`);

export function isToolName(text: string): boolean {
  return TOOL_NAME.test(text);
}

export function encodeToolName(name: string): string {
  if (!isToolName(name)) throw new Defect(`not a tool name: ${JSON.stringify(name)}`);
  return name.replaceAll(".", "__");
}

export function decodeToolName(encoded: string): string | null {
  return ENCODED_NAME.test(encoded) ? encoded.replaceAll("__", ".") : null;
}
