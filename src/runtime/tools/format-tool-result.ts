/**
 * The role=tool message of a result: the seed's JSON (S-3.2) with its markers escaped (S-3.3). Token counts are of this
 * text, since quoting and escaping make it longer than the output.
 */
import { escapeMarkers } from "../../kernel/protocol/escape-markers.ts";
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";

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

/** Of a result that is shown again, in code points (O-6.1). */
export const SHOWN_AGAIN = { outputChars: 1000, errorChars: 320 };

/** The message of a result as later steps show it. */
export function shortenToolResult(content: string): string {
  const parsed = parseJson(content);
  const { id, tool, ok, output, error } = (parsed.ok ? parsed.value : {}) as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof tool !== "string") return content;
  const text = output === null || typeof output === "string" ? output : JSON.stringify(output);
  const shown = typeof text === "string" ? cutText(text, SHOWN_AGAIN.outputChars) : null;
  const failure = typeof error === "string" ? cutText(error, SHOWN_AGAIN.errorChars) : null;
  if (shown === text && failure === error) return content;
  return formatToolResult({ callId: id, tool }, { ok: ok === true, output: shown, error: failure });
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
