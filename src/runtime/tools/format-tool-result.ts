/**
 * The role=tool message of a result: the seed's JSON (S-3.2) with its markers escaped (S-3.3). Token counts are of this
 * text, since quoting and escaping make it longer than the output.
 */
import { escapeMarkers } from "../../kernel/protocol/escape-markers.ts";

export interface CallIdentity {
  readonly callId: string;
  readonly tool: string;
}

export interface CallResult {
  readonly ok: boolean;
  /** Null for a failure, and for a call without output. */
  readonly output: string | null;
  /** `code: message`. */
  readonly error: string | null;
  /** We wrote the output as JSON, so it need not be parsed to find out. */
  readonly isJson?: true;
}

export function formatToolResult({ callId, tool }: CallIdentity, { ok, output, error, isJson }: CallResult): string {
  const text = `{"id":${JSON.stringify(callId)},"tool":${JSON.stringify(tool)},"ok":${ok},"output":${writtenOutput(output, isJson)},"error":${JSON.stringify(error)}}`;
  return escapeMarkers(text);
}

/** Objects and arrays as JSON, anything else as text. Only the model reads it, so the strict (slower) parser is not needed. */
function writtenOutput(text: string | null, isJson: true | undefined): string {
  const isTree = text !== null && (text.startsWith("{") || text.startsWith("["));
  return isTree && (isJson || isJsonText(text)) ? text : JSON.stringify(text);
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
