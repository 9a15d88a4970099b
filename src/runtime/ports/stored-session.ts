/** Sessions and their checkpoints, as every store holds them. */
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";

/** What a person set for one session; the rest is the agent's (T-2.2). */
export interface SessionSettings {
  /** `provider:model`, or `auto`. */
  readonly model?: string;
  readonly thinkingLevel?: ThinkingLevel;
  readonly verboseLevel?: boolean;
}

export interface NewSession {
  readonly sessionId: SessionId;
  readonly agentId: string;
  /** P-5.1. Several sessions may have had one key; the key routes to the latest (`route-session`). */
  readonly key: string;
  readonly channel: string;
  /** The identity, or the channel's own id of the sender. */
  readonly senderId: string;
  readonly createdAt: string;
}

export interface StoredSession extends NewSession {
  readonly title: string | null;
  readonly settings: SessionSettings;
  /** When its latest message was accepted; `createdAt` before the first. */
  readonly activeAt: string;
  /** Runs accepted in it; compactions do not count. */
  readonly runs: number;
  /** Of these, those that have not ended. */
  readonly openRuns: number;
  /** Messages that an import took over from another assistant (`import-turns`). */
  readonly importedMessages: number;
}

/** A turn that another assistant held: it stands before the session's own, and is no run of ours. */
export interface StoredImportedTurn {
  /** Numbered backwards from -1, the last one; 0 is where the session's own runs begin. */
  readonly position: number;
  /** `ImportedTurn` as JSON. */
  readonly turn: string;
}

/** What a session remembers beside its messages (S-1.2). Capabilities are in the ledger. */
export interface StoredCheckpoint {
  /** Grows by one per write. */
  readonly revision: number;
  readonly updatedAt: string;
  /** `NotedState` as JSON. */
  readonly state: string;
  /** `SessionSummary` as JSON; null before the first compaction. */
  readonly summary: string | null;
  /** Turns up to this position are no longer sent to a model as messages. */
  readonly condensedThrough: number;
}

export interface SessionFilter {
  readonly agentId?: string;
  readonly channel?: string;
  readonly senderId?: string;
  /** The last component of the key of a room or group. */
  readonly roomId?: string;
}

/** Of positions of turns, both exclusive; those of imported turns are negative, and an `after` of 0 leaves none out. */
export interface RunRange {
  readonly after: number;
  readonly before: number;
}

/** The part of a store that finds sessions. */
export interface SessionReads {
  findSession(sessionId: SessionId): Promise<StoredSession | null>;
  /** The session that the key leads to. */
  findSessionByKey(key: string): Promise<StoredSession | null>;
  /** The session that holds what was imported from there. */
  findImport(source: string): Promise<SessionId | null>;
  /** The last imported turns of a session with a position in between, oldest first. */
  importedTurns(sessionId: SessionId, between: RunRange, limit: number): Promise<readonly StoredImportedTurn[]>;
  /** Null before the first write. */
  findCheckpoint(sessionId: SessionId): Promise<StoredCheckpoint | null>;
}
