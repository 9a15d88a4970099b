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
}

export function formatToolResult({ callId, tool }: CallIdentity, { ok, output, error }: CallResult): string {
  const text = `{"id":${JSON.stringify(callId)},"tool":${JSON.stringify(tool)},"ok":${ok},"output":${writeOutput(output)},"error":${JSON.stringify(error)}}`;
  return escapeMarkers(text);
}

/** Objects and arrays as they are written, anything else as a string. Only the model reads it: no strict parser is needed. */
function writeOutput(text: string | null): string {
  if (text !== null && /^[{[]/.test(text)) {
    try {
      JSON.parse(text);
      return text;
    } catch {
      // A text that only begins like JSON.
    }
  }
  return JSON.stringify(text);
}
