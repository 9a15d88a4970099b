/** A session as T-2.2 has it, and its messages as people read them; made of its runs. */
import { type Static, Type } from "typebox";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { Count, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import { notedIn, notedState, type SessionSummary, summaryIn } from "../../runtime/checkpoint/session-checkpoint.ts";
import { RUN_STATUSES } from "../../runtime/ports/store.ts";
import type { StoredCheckpoint, StoredSession } from "../../runtime/ports/stored-session.ts";
import type { SessionTurn } from "../context/session-turn.ts";

export const SessionIdSchema = Type.Unsafe<SessionId>(Type.String());
const Text = Type.String();
const Texts = Type.Array(Text);

const SESSION_STATES = ["created", "active", "idle"] as const;

export const MessageSchema = Type.Object({
  id: Text,
  role: Type.Enum(["user", "assistant", "system", "tool"]),
  content: Text,
  /** So many images came with it; the last lines of `content` name them, one each. */
  images: Type.Optional(Count),
  toolCalls: Type.Optional(Type.Array(Type.Object({ id: Text, tool: Text, args: Text }))),
  toolResults: Type.Optional(Type.Array(Type.Object({ id: Text, tool: Text, success: Type.Boolean(), output: Text }))),
  timestamp: Type.Integer(),
  channel: Type.Optional(Text),
  /** Absent from imported messages: no run of ours. */
  runId: Type.Optional(RunIdSchema),
});
export type SessionMessage = Static<typeof MessageSchema>;

const SettingsSchema = Type.Object({
  model: Type.Optional(Text),
  thinkingLevel: Type.Optional(Type.Enum([...THINKING_LEVELS])),
  verboseLevel: Type.Optional(Type.Boolean()),
});

const sessionFields = {
  id: SessionIdSchema,
  agentId: Text,
  key: Text,
  title: nullable(Text),
  senderId: Text,
  channel: Text,
  state: Type.Enum([...SESSION_STATES]),
  metadata: Type.Object({
    createdAt: Type.Integer(),
    lastActiveAt: Type.Integer(),
    messageCount: Count,
    model: Text,
  }),
  config: SettingsSchema,
};
export const SessionRowSchema = Type.Object(sessionFields);
export type SessionRow = Static<typeof SessionRowSchema>;

/** S-1.2. */
const CheckpointSchema = Type.Object({
  session_id: SessionIdSchema,
  revision: Count,
  updated_ts: Type.Number(),
  state: Type.Object({
    goals: Texts,
    open_loops: Texts,
    decisions: Texts,
    constraints: Texts,
    episode_summary: Text,
    memory_tags: Texts,
    memory_refs: Texts,
    capabilities_granted: Texts,
    capabilities_pending: Texts,
  }),
  recent_messages: Type.Array(Type.Object({ role: Text, content: Text })),
  trace_tail: Texts,
  /** Earlier turns in short, with the runs it was made from; null before the first compaction. */
  summary: nullable(
    Type.Object({ content: Text, turns: Count, tokens: Count, created_at: Text, evidence: Texts, written_by: Text }),
  ),
});
export type WireCheckpoint = Static<typeof CheckpointSchema>;

/** A message whose run has not ended, and so is not among the messages yet. */
const OpenRunSchema = Type.Object({
  id: RunIdSchema,
  status: Type.Enum([...RUN_STATUSES]),
  message: Text,
  createdAt: Type.Integer(),
});
export type OpenRun = Static<typeof OpenRunSchema>;

export const SessionSchema = Type.Object({
  ...sessionFields,
  messages: Type.Array(MessageSchema),
  /** In the order in which they were said; what is not at work waits for those before it. */
  openRuns: Type.Array(OpenRunSchema),
  checkpoint: CheckpointSchema,
});

export interface SessionFacts {
  readonly session: StoredSession;
  readonly idleMs: number;
  readonly nowMs: number;
  /** Of its next run. */
  readonly model: string;
}

export function sessionRow({ session, idleMs, nowMs, model }: SessionFacts): SessionRow {
  const { sessionId: id, agentId, key, title, senderId, channel, settings, createdAt, activeAt } = session;
  const { runs, openRuns, importedMessages } = session;
  const lastActiveAt = Date.parse(activeAt);
  const state = runs + importedMessages === 0 ? "created" : nowMs - lastActiveAt < idleMs ? "active" : "idle";
  const metadata = {
    createdAt: Date.parse(createdAt),
    lastActiveAt,
    messageCount: importedMessages + 2 * runs - openRuns,
    model,
  };
  return { id, agentId, key, title, senderId, channel, state, metadata, config: { ...settings } };
}

/** The turn that a message of `messagesOf` belongs to. */
export function turnOfMessage(messageId: string): string {
  return messageId.replace(/_(?:user|calls|answer|tool_\d+)$/, "");
}

/** In the order in which they were said. */
export function messagesOf(turns: readonly SessionTurn[], channel: string): readonly SessionMessage[] {
  return turns.flatMap(({ id: turnId, runId, askedAt, answeredAt, asked, calls, answered }) => {
    const run = runId === null ? {} : { runId };
    const timestamp = Date.parse(answeredAt);
    const content = asked.note === null ? asked.text : `${asked.text}\n${asked.note}`;
    const images = asked.note === null ? {} : { images: asked.note.split("\n").length };
    const called: readonly SessionMessage[] =
      calls.length === 0
        ? []
        : [
            {
              id: `${turnId}_calls`,
              role: "assistant",
              content: "",
              toolCalls: calls.map(({ callId: id, tool, args }) => ({ id, tool, args })),
              timestamp,
              ...run,
            },
            ...calls.map(({ callId, tool, ok, result }, at): SessionMessage => {
              const toolResults = [{ id: callId, tool, success: ok, output: result }];
              return { id: `${turnId}_tool_${at + 1}`, role: "tool", content: result, toolResults, timestamp, ...run };
            }),
          ];
    return [
      { id: `${turnId}_user`, role: "user", content, ...images, timestamp: Date.parse(askedAt), channel, ...run },
      ...called,
      { id: `${turnId}_answer`, role: "assistant", content: answered.text, timestamp, ...run },
    ];
  });
}

export function wireCheckpoint(
  sessionId: SessionId,
  checkpoint: StoredCheckpoint,
  held: { readonly granted: readonly string[]; readonly pending: readonly string[] },
  turns: readonly SessionTurn[],
): WireCheckpoint {
  const noted = notedIn(notedState(checkpoint));
  return {
    session_id: sessionId,
    revision: checkpoint.revision,
    updated_ts: checkpoint.updatedAt === "" ? 0 : Date.parse(checkpoint.updatedAt) / 1000,
    state: {
      goals: [...noted.goals],
      open_loops: [...noted.openLoops],
      decisions: [...noted.decisions],
      constraints: [...noted.constraints],
      episode_summary: noted.episodeSummary,
      memory_tags: [...noted.memoryTags],
      memory_refs: [...noted.memoryRefs],
      capabilities_granted: [...held.granted],
      capabilities_pending: [...held.pending],
    },
    recent_messages: messagesOf(turns, "").map(({ role, content }) => ({ role, content })),
    trace_tail: turns.flatMap(({ runId }) => runId ?? []),
    summary: wireSummary(summaryIn(checkpoint)),
  };
}

function wireSummary(summary: SessionSummary | null): WireCheckpoint["summary"] {
  if (summary === null) return null;
  const { text: content, turns, tokens, createdAt: created_at, evidence, writtenBy: written_by } = summary;
  return { content, turns, tokens, created_at, evidence: [...evidence], written_by };
}
