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
  /** The row, or the route that led to it, is not what the ledger recorded: another program changed it. */
  readonly isForged: boolean;
  /** When all that was said in it was removed for good; absent: it was not. */
  readonly erasedAt?: string;
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

export type SessionWrite =
  /** Changes nothing when the id exists. */
  | { readonly type: "insert-session"; readonly session: NewSession }
  /** From now on the key leads to this session. `store.conflict` when the session is forged. */
  | { readonly type: "route-session"; readonly sessionId: SessionId; readonly at: string }
  | {
      readonly type: "change-session";
      readonly sessionId: SessionId;
      readonly title: string | null;
      readonly settings: SessionSettings;
      readonly at: string;
    }
  /** The turns of a session that was inserted with the same commit, oldest first. `store.conflict` when `source` was imported. */
  | {
      readonly type: "import-turns";
      readonly sessionId: SessionId;
      /** Names the conversation where it came from. */
      readonly source: string;
      readonly activeAt: string;
      /** `ImportedTurn`s as JSON. */
      readonly turns: readonly string[];
      readonly messages: number;
    }
  /** `store.conflict` unless its revision follows the stored one; the same write repeated succeeds. */
  | { readonly type: "write-checkpoint"; readonly sessionId: SessionId; readonly checkpoint: StoredCheckpoint };

export interface SessionFilter {
  readonly agentId?: string;
  readonly channel?: string;
  readonly senderId?: string;
  /** The last component of the key of a room or group. */
  readonly roomId?: string;
  /** Whose direct sessions they are. */
  readonly owner?: { readonly channel: string; readonly senderId: string };
  /** Part of its title, sender, channel or key. */
  readonly text?: string;
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
  /** Null before the first write; `forged` when it is not what the ledger recorded. */
  findCheckpoint(sessionId: SessionId): Promise<StoredCheckpoint | "forged" | null>;
}
