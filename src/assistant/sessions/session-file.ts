/**
 * What a session's file holds (P-5.2): its name, and the lines of one turn. A line says which session and run it belongs to
 * (or which imported turn),
 * so that one file holds every session its key has led to. An external channel's transcript has final words only (P-5.5).
 */
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { SessionTurn } from "../context/session-turn.ts";
import { messagesOf } from "./session-view.ts";

/** Of a file name, before its ending; file systems allow 255 bytes. */
const MAX_NAME_BYTES = 200;
const HASH_CHARS = 64;

/** `foldsCase`: the file system takes `A` and `a` for one name. */
export function sessionFileName(key: string, foldsCase: boolean): string {
  const kept = foldsCase ? /[^a-z0-9:+@._-]/gu : /[^A-Za-z0-9:+@._-]/gu;
  const encoded = key.replace(kept, percentEncoded).replace(/^\./, "%2E");
  if (encoded.length <= MAX_NAME_BYTES) return `${encoded}.jsonl`;
  // `~` is in no other name.
  return `${encoded.slice(0, MAX_NAME_BYTES - HASH_CHARS - 1)}~${hashBytes(key)}.jsonl`;
}

function percentEncoded(character: string): string {
  return Array.from(new TextEncoder().encode(character), (byte) => {
    return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

export interface FileOrigin {
  readonly sessionId: SessionId;
  readonly channel: string;
  /** A channel of the person at this machine. */
  readonly isLocal: boolean;
}

export function turnLines(turn: SessionTurn, { sessionId, channel, isLocal }: FileOrigin): readonly string[] {
  if (turn.runId !== null && turn.erasedAt !== undefined) return [erasedLine(sessionId, turn.runId, turn.erasedAt)];
  const messages = messagesOf([turn], channel).filter(({ id, role }) => {
    return isLocal ? role !== "assistant" || id.endsWith("_answer") : role === "user" || id.endsWith("_answer");
  });
  return messages.map(({ id, role, content, timestamp, toolResults }) => {
    const [result] = toolResults ?? [];
    return JSON.stringify({
      id,
      session_id: sessionId,
      ...(turn.runId === null ? { imported_turn: turn.id } : { run_id: turn.runId }),
      role,
      content,
      ts: new Date(timestamp).toISOString(),
      ...(result === undefined ? {} : { tool_name: result.tool, tool_call_id: result.id }),
      ...(role === "assistant" && turn.outcome !== null ? { outcome: turn.outcome } : {}),
    });
  });
}

/** All that is left of a turn that was forgotten. */
export function erasedLine(sessionId: SessionId, runId: RunId, ts: string): string {
  return JSON.stringify({ session_id: sessionId, run_id: runId, erased: true, ts });
}

/** A piece of an answer that is being written, for local sessions that keep them (P-5.5). */
export function partialLine(
  runId: string,
  { attempt, offset, text }: { readonly attempt: number; readonly offset: number; readonly text: string },
  sessionId: SessionId,
  ts: string,
): string {
  const place = { session_id: sessionId, run_id: runId, role: "assistant", partial: true, attempt, offset };
  return JSON.stringify({ ...place, content: text, ts });
}
