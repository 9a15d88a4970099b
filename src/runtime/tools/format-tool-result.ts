/**
 * How a model is told what became of a call: the seed's JSON (S-3.2), with its markers escaped (S-3.3). Whoever counts its
 * tokens counts this text and not the output alone: quotes, line ends and markers are more in it than they were.
 */
import { escapeMarkers } from "../../kernel/protocol/escape-markers.ts";

export interface FormattedCall {
  readonly callId: string;
  readonly tool: string;
}

export interface CallResult {
  readonly ok: boolean;
  /** Null where there is none, or it failed. */
  readonly output: string | null;
  /** With its code. */
  readonly error: string | null;
  /** Known of the output, so that nobody has to look. */
  readonly isJson?: true;
}

export function formatToolResult({ callId, tool }: FormattedCall, { ok, output, error, isJson }: CallResult): string {
  const told = `{"id":${JSON.stringify(callId)},"tool":${JSON.stringify(tool)},"ok":${ok},"output":${writtenOutput(output, isJson)},"error":${JSON.stringify(error)}}`;
  return escapeMarkers(told);
}

/**
 * Objects and arrays as such, anything else as text. What is read here we wrote ourselves, as canonical JSON, or is shown to
 * the model alone: the strict parser, which would cost ten times as much, has nothing to find.
 */
function writtenOutput(text: string | null, isJson: true | undefined): string {
  const isTree = text !== null && (text.startsWith("{") || text.startsWith("["));
  return isTree && (isJson || canBeParsed(text)) ? text : JSON.stringify(text);
}

function canBeParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
