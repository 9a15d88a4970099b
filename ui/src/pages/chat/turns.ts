/** From the messages of a session to what is drawn: one turn a question. */
import type { AnswerOf } from "../../data/client.ts";

export type Session = AnswerOf<"sessions.get">;
export type Message = Session["messages"][number];
export type OpenRun = Session["openRuns"][number];

export interface TurnCall {
  readonly id: string;
  readonly tool: string;
  /** JSON, long texts in it are cut. */
  readonly args: string;
  readonly ok: boolean | null;
  readonly result: string;
}

export interface Turn {
  /** The run's id, or that of an imported turn. */
  readonly id: string;
  readonly runId: string | null;
  readonly askedAt: number;
  readonly asked: string;
  /** So many images came with it; the last lines of `asked` name them. */
  readonly images: number;
  readonly calls: readonly TurnCall[];
  /** Null: not yet. */
  readonly answer: { readonly text: string; readonly at: number } | null;
  readonly status: OpenRun["status"] | null;
  /** Of its oldest message, for asking what was before it. */
  readonly firstMessage: string | null;
}

/** Messages of a turn follow one another and share the first part of their ids. */
export function endedTurns(messages: readonly Message[]): readonly Turn[] {
  const turns = new Map<string, Turn>();
  for (const message of messages) {
    const id = message.id.replace(/_(?:user|calls|answer|tool_\d+)$/, "");
    turns.set(id, withMessage(turns.get(id) ?? emptyTurn(id, message), message));
  }
  return [...turns.values()];
}

export function openTurn({ id, status, message, createdAt }: OpenRun): Turn {
  return {
    id,
    runId: id,
    askedAt: createdAt,
    asked: message,
    images: 0,
    calls: [],
    answer: null,
    status,
    firstMessage: null,
  };
}

/** What is newly read over what was: a session's reading has only its last turns, and earlier ones stay. */
export function mergeTurns(before: readonly Turn[], latest: readonly Turn[]): readonly Turn[] {
  const first = latest[0];
  if (first === undefined) return latest;
  const at = before.findIndex(({ id }) => id === first.id);
  if (at < 1) return latest;
  return [...before.slice(0, at), ...latest];
}

function emptyTurn(id: string, { timestamp, runId, id: firstMessage }: Message): Turn {
  return {
    id,
    runId: runId ?? null,
    askedAt: timestamp,
    asked: "",
    images: 0,
    calls: [],
    answer: null,
    status: null,
    firstMessage,
  };
}

function withMessage(
  turn: Turn,
  { role, content, images = 0, timestamp, toolCalls = [], toolResults = [] }: Message,
): Turn {
  if (role === "user") return { ...turn, asked: content, images, askedAt: timestamp };
  if (toolCalls.length > 0) {
    const calls = toolCalls.map(({ id, tool, args }) => ({ id, tool, args, ok: null, result: "" }));
    return { ...turn, calls: [...turn.calls, ...calls] };
  }
  if (role !== "tool") return { ...turn, answer: { text: content, at: timestamp } };
  return {
    ...turn,
    calls: turn.calls.map((call) => {
      const result = toolResults.find(({ id }) => id === call.id);
      return result === undefined ? call : { ...call, ok: result.success, result: result.output };
    }),
  };
}
