/** What is removed for good, and what of it is left to do in files, as every store holds it. */
import type { BodyRef, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";

export interface ErasedRun {
  readonly runId: RunId;
  /** All its texts, for the ledger's entry: a verifier accepts that these are gone. */
  readonly refs: readonly BodyRef[];
}

/** Until the files follow. */
export interface PendingErasure {
  readonly sessionId: SessionId;
  /** Null: what the session held beside its runs. */
  readonly runId: RunId | null;
}

/** A file that came with a message and is a body of the session. */
export interface SessionMedia {
  readonly type: string;
  readonly name: string;
  readonly bytes: number;
  readonly bodyRef: BodyRef;
}

export type ErasureWrite =
  /**
   * Removes the texts of runs with their salts, in one session, with a ledger entry for each. `store.conflict` while a run of
   * the session has not ended, or an answer of one of them is being sent. An answer that waits to be sent never is.
   */
  | {
      readonly type: "erase-content";
      readonly sessionId: SessionId;
      readonly runs: readonly ErasedRun[];
      /** Texts of other runs of the session that were made of these. */
      readonly copies: readonly BodyRef[];
      /** All that the session holds goes with them: title, memory, imported turns, uploads. Its key leads to it no longer. */
      readonly isWhole: boolean;
      readonly at: string;
      readonly actor: string;
    }
  /** The files follow the database. */
  | { readonly type: "finish-erasure"; readonly done: readonly PendingErasure[] };

export interface ErasureReads {
  pendingErasures(): Promise<readonly PendingErasure[]>;
  mediaOf(sessionId: SessionId): Promise<readonly SessionMedia[]>;
}
