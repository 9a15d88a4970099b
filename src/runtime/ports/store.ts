/**
 * Everything durable, behind one commit (design: Durability). Writes are data, so one transaction spans all of them.
 *
 * S1. The writes of one commit take effect together or not at all. A refused commit fails alone, even if others shared its
 *     transaction.
 * S2. `commit` resolves when the writes survive a power cut. A `barrier` or `eager` commit is flushed immediately, with
 *     everything committed before it; a `lazy` one is flushed with the next of them, or after LAZY_FLUSH_MS.
 * S3. Commits take effect, and are acknowledged, in the order in which they were made.
 * S4. An append is accepted only on the head and epoch that its writer knows; the same append repeated succeeds.
 * S5. After a failed commit or sync of the medium nothing more is accepted: `store.unavailable` until reopened.
 * S6. Reads see everything that was durable when they were called. Every list is paged.
 */
import type { Body } from "../../kernel/journal/body.ts";
import type { HomeState } from "../../kernel/journal/checkpoint.ts";
import type { LedgerDraft, LedgerEntry, LedgerHead, LedgerKind, RecordedTable } from "../../kernel/journal/ledger.ts";
import type { ApprovalId, BodyRef, Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";
import type { Page } from "./page.ts";
import type { AccessReads, AccessWrite } from "./stored-access.ts";
import type { StoredApproval } from "./stored-approval.ts";
import type { CapabilityDecisionKind, CapabilityReads } from "./stored-capability.ts";
import type { DeliveryReads, DeliveryWrite } from "./stored-delivery.ts";
import type { ErasureReads, ErasureWrite } from "./stored-erasure.ts";
import type { GhostReads, GhostWrite } from "./stored-ghost.ts";
import type { GovernanceReads, GovernanceWrite } from "./stored-governance.ts";
import type { JobReads, JobWrite } from "./stored-job.ts";
import type { MediaReads, MediaWrite } from "./stored-media.ts";
import type { MemoryReads, MemoryWrite } from "./stored-memory.ts";
import type { SecretReads, SecretWrite } from "./stored-secret.ts";
import type { RunRange, SessionFilter, SessionReads, SessionWrite, StoredSession } from "./stored-session.ts";
import type { SpendAmount, SpendScope, SpendTotal } from "./stored-spend.ts";

export type { Page } from "./page.ts";
export type { ApprovalState, StoredApproval } from "./stored-approval.ts";
export type { SpendAmount, SpendScope, SpendTotal } from "./stored-spend.ts";

export const LAZY_FLUSH_MS = 20;

export const RUN_STATUSES = ["queued", "running", "waiting_approval", "completed", "failed", "cancelled"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export interface NewRun {
  readonly runId: RunId;
  readonly agentId: string;
  readonly sessionId: SessionId;
  /** `http`, `cli`, a channel, `run` for a child. */
  readonly source: string;
  /** Runs of one lane are driven one at a time, in order of insertion. */
  readonly lane: string;
  readonly parentRunId: RunId | null;
  readonly model: string;
  readonly thinkingMode: "never" | "on_error" | "always";
  readonly contractHash: Hash;
  /** The sealed contract as canonical JSON in wire spelling. */
  readonly contract: string;
  /** `Acceptance` as JSON: everything needed to start the run, or start it again. */
  readonly accepted: string;
  readonly createdAt: string;
}

/** Facts about an ended run for lists, which read no journals. */
export interface RunEnding {
  /** Performed calls, failed ones too. */
  readonly toolCalls: number;
  /** Active time. */
  readonly durationMs: number;
  readonly headHash: Hash;
  readonly stateDigest: Hash;
  /** Joined over everything the run has seen, so also its answer's. */
  readonly labels: Labels;
}

/** Hashes of an idempotency key, which may be a secret, and of the request it was used for. */
export interface Idempotency {
  readonly keyHash: Hash;
  readonly requestHash: Hash;
}

export interface StoredRun extends NewRun {
  readonly status: RunStatus;
  /** Grows when a run is claimed, so that appends of an earlier owner are refused. */
  readonly epoch: number;
  readonly outcome: Outcome | null;
  readonly reason: string | null;
  readonly answerRef: BodyRef | null;
  readonly endedAt: string | null;
  /** Null until it has ended. */
  readonly ended: RunEnding | null;
  /** Null unless a cancellation was requested. */
  readonly cancelledBy: string | null;
  /** Before it was completed (`complete-acceptance`); absent: it never was. The ledger's entry of the run is over this. */
  readonly acceptedAtFirst?: string;
  /** When its content was removed for good; absent: it was not. */
  readonly erasedAt?: string;
}

/** Which runs of a list; those that every given field fits. */
export interface RunFilter {
  readonly status?: RunStatus;
  readonly agentId?: string;
  readonly sessionId?: SessionId;
  /** In the message, as it is kept, or in the id; ASCII letters of either case. */
  readonly text?: string;
}

export interface PlacedRun extends StoredRun {
  /** Grows with every inserted run; orders lanes and lists. */
  readonly position: number;
}

/** `barrier`: flushed immediately and awaited. `eager`: flushed immediately, not awaited. */
export type Urgency = "barrier" | "eager" | "lazy";

export interface StoredBody extends Body {
  readonly ref: BodyRef;
}

export type Write =
  | SessionWrite
  | MediaWrite
  | GhostWrite
  | MemoryWrite
  | SecretWrite
  | GovernanceWrite
  | JobWrite
  /** What a run that has not begun was accepted with, completed by what was said meanwhile in its session. */
  | { readonly type: "complete-acceptance"; readonly runId: RunId; readonly accepted: string }
  /** `store.conflict` when the id, the idempotency key or the inbound message exists. */
  | {
      readonly type: "insert-run";
      readonly run: NewRun;
      readonly idempotency: Idempotency | null;
      readonly inbound: { readonly channel: string; readonly messageId: string } | null;
    }
  | {
      readonly type: "append-entries";
      readonly runId: RunId;
      readonly epoch: number;
      /** The head that these entries follow: the hash of entry `seq`; for 0 the genesis hash. */
      readonly after: { readonly seq: number; readonly hash: Hash };
      /** Canonical lines of the entries; `head` is the hash of the last. */
      readonly lines: readonly string[];
      /** The same entries in their stored form (`entry-encoding.ts`), handed out once; null after that. */
      takeEncoded?(): readonly string[] | null;
      readonly head: Hash;
      /** Bodies that these entries name first. */
      readonly bodies: readonly StoredBody[];
    }
  /** Bodies read outside their run: messages, answers, plans. An existing body stays unchanged. */
  | { readonly type: "put-bodies"; readonly sessionId: SessionId; readonly bodies: readonly StoredBody[] }
  | { readonly type: "claim-run"; readonly runId: RunId; readonly epoch: number }
  | { readonly type: "set-status"; readonly runId: RunId; readonly status: "queued" | "running" | "waiting_approval" }
  /** Expires the run's open questions. */
  | {
      readonly type: "seal-run";
      readonly runId: RunId;
      readonly outcome: Outcome;
      readonly reason: string | null;
      readonly answerRef: BodyRef | null;
      readonly endedAt: string;
      readonly ended: RunEnding;
    }
  /** Changes nothing for an ended run, or when repeated. */
  | { readonly type: "request-cancel"; readonly runId: RunId; readonly by: string }
  /** Changes nothing when repeated. */
  | { readonly type: "insert-approval"; readonly approval: StoredApproval }
  /** A decision, with its ledger entry. `store.conflict` unless the approval is pending. */
  | {
      readonly type: "decide-approval";
      readonly id: ApprovalId;
      readonly draft: LedgerDraft<"approval.decided"> | LedgerDraft<"effect.resolved">;
    }
  /** `store.conflict` unless it was allowed for this plan; repeated for the same call it succeeds. */
  | { readonly type: "consume-approval"; readonly id: ApprovalId; readonly planHash: Hash; readonly atMs: number }
  /**
   * A model's request, with its ledger entry. Changes nothing if the capability is pending or granted, or if the session
   * has MAX_PENDING_CAPABILITIES requests.
   */
  | { readonly type: "request-capability"; readonly draft: LedgerDraft<"capability.requested"> }
  /**
   * An operator's decision, with its ledger entry. `store.conflict` when there is no such session, the nonce was used, a
   * denied capability is not pending, or a revoked one neither granted nor forged.
   */
  | {
      readonly [K in CapabilityDecisionKind]: { readonly type: "decide-capability"; readonly draft: LedgerDraft<K> };
    }[CapabilityDecisionKind]
  /** The actual cost of a reservation. Changes nothing if there is none, or it is settled. */
  | {
      readonly type: "settle-spend";
      readonly runId: RunId;
      readonly epoch: number;
      readonly attempt: number;
      readonly amount: SpendAmount;
    }
  /** Releases unsettled reservations of this epoch. Those of an earlier owner stay spent. */
  | { readonly type: "release-spend"; readonly runId: RunId; readonly epoch: number }
  /**
   * Counts against every scope, or against none if one would exceed its limit (`CommitResult.spend`). After an earlier
   * reservation of this attempt and epoch only the difference counts; after its settlement nothing does. A reservation of
   * an earlier epoch may have been spent, so the attempt counts again.
   */
  | {
      readonly type: "reserve-spend";
      readonly runId: RunId;
      readonly epoch: number;
      readonly attempt: number;
      readonly amount: SpendAmount;
      readonly scopes: readonly SpendScope[];
    }
  /**
   * Spending without a reservation, or a correction (negative). Never refused, and counted each time. With a run it is
   * all that the run has used; what its settled reservations counted is subtracted.
   */
  | {
      readonly type: "count-spend";
      readonly runId: RunId | null;
      readonly amount: SpendAmount;
      readonly scopes: readonly Pick<SpendScope, "scope" | "period">[];
    }
  | { readonly [K in LedgerKind]: { readonly type: "append-ledger"; readonly draft: LedgerDraft<K> } }[LedgerKind]
  | AccessWrite
  | DeliveryWrite
  | ErasureWrite
  /**
   * A slot for a send that needs no approval (P-3.3). `store.conflict` when `limit` others were taken after `sinceMs`;
   * a slot that was itself taken after `sinceMs` stays unchanged.
   */
  | {
      readonly type: "take-send-slot";
      readonly id: Hash;
      readonly atMs: number;
      readonly sinceMs: number;
      readonly limit: number;
    };

export interface CommitResult {
  /** The result of the commit's reservation; null when it made none. */
  readonly spend:
    | { readonly granted: true }
    | {
        readonly granted: false;
        readonly scope: string;
        readonly by: "microusd" | "tokens";
        /** Requested beyond what is reserved already, and what the limit has left. */
        readonly needed: number;
        readonly left: number;
      }
    | null;
}

export type StoreErrorCode =
  | "store.fenced"
  | "store.conflict"
  /** Nothing can be written: full disk, failed sync, lost medium. */
  | "store.unavailable"
  /** Another process holds the database for too long; a retry may help. */
  | "store.busy"
  | "store.corrupt"
  | "store.newer-schema"
  | "store.read-only"
  /** Another gateway runs on this home. */
  | "store.in-use"
  | "store.closed";

/** The message says what to do and holds no content. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}

/** The last restore of the home; `lastRun` is the position of the last run that the backup held. */
export interface HomeRestore {
  readonly id: string;
  readonly lastRun: number;
}

export interface PresentRow {
  readonly rowId: string;
  readonly rowHash: Hash;
  /** False for an unchanged session of one run: the entry of its run names it. */
  readonly needsRecord: boolean;
}

export interface Store
  extends AccessReads,
    CapabilityReads,
    DeliveryReads,
    GhostReads,
    ErasureReads,
    GovernanceReads,
    JobReads,
    MediaReads,
    MemoryReads,
    SecretReads,
    SessionReads {
  /** Random id of the home; names the ledger's chain. */
  readonly homeId: string;
  /** Null for a home that was never restored. */
  readonly restored: HomeRestore | null;
  commit(writes: readonly Write[], urgency: Urgency): Promise<CommitResult>;

  findRun(runId: RunId): Promise<PlacedRun | null>;
  findRunIds(beginning: string, limit: number): Promise<readonly RunId[]>;
  /** The run and the hash of the request that the key was used for. */
  findRunByKey(keyHash: Hash): Promise<{ readonly run: StoredRun; readonly requestHash: Hash } | null>;
  findRunByMessage(channel: string, messageId: string): Promise<StoredRun | null>;
  hasSession(sessionId: SessionId): Promise<boolean>;
  /** Journal lines after `seq`, at most `limit`. */
  readEntries(runId: RunId, after: number, limit: number): Promise<readonly string[]>;
  /** The last entry of a run; null before the first. */
  headOf(runId: RunId): Promise<{ readonly seq: number; readonly hash: Hash } | null>;
  /** Bodies put for the session; with a run also its entries', from `lastSeq` back. Missing ones were erased. */
  readBodies(
    sessionId: SessionId,
    refs: readonly BodyRef[],
    runId: RunId | null,
    lastSeq?: number,
  ): Promise<ReadonlyMap<BodyRef, Body>>;
  approvalsOf(runId: RunId): Promise<readonly StoredApproval[]>;
  findApproval(id: ApprovalId): Promise<StoredApproval | null>;

  /** Runs that have not ended, in order of position, after `position`. */
  openRuns(after: number, limit: number): Promise<readonly PlacedRun[]>;
  /** All runs, in order of position, after `position`. */
  runsAfter(position: number, limit: number): Promise<readonly PlacedRun[]>;
  /** Newest first. */
  listRuns(filter: RunFilter & Page): Promise<{ readonly runs: readonly StoredRun[]; readonly total: number }>;
  /** The last ended runs of a session with a position in between, oldest first. */
  sessionRuns(sessionId: SessionId, between: RunRange, limit: number): Promise<readonly PlacedRun[]>;
  firstRunOf(sessionId: SessionId): Promise<PlacedRun | null>;
  /** Runs of a session that have not ended, oldest first. */
  openRunsOf(sessionId: SessionId, limit: number): Promise<readonly PlacedRun[]>;
  /** The one with the latest message first. */
  listSessions(
    filter: SessionFilter,
    page: Page,
  ): Promise<{ readonly sessions: readonly StoredSession[]; readonly total: number }>;
  pendingApprovals(page: Page): Promise<readonly StoredApproval[]>;
  /** Those that no longer wait, the last decided first. */
  decidedApprovals(page: Page): Promise<readonly StoredApproval[]>;
  /** All approvals of all runs, to compare with the ledger. */
  allApprovals(page: Page): Promise<readonly StoredApproval[]>;
  /** Every row of a table as it is now, to compare with what the ledger recorded. */
  recordedRows(table: RecordedTable, page: Page): Promise<readonly PresentRow[]>;
  spendTotals(period: string): Promise<readonly SpendTotal[]>;
  /** What is held for inferences of a run in progress; null when there is no such run. */
  heldFor(runId: RunId): Promise<SpendAmount | null>;
  /** `store.corrupt` where a line cannot be read. */
  readLedger(after: number, limit: number): Promise<readonly LedgerEntry[]>;
  /** As they are stored, whatever they are. */
  readLedgerLines(after: number, limit: number): Promise<readonly string[]>;
  ledgerHead(): Promise<LedgerHead>;
  /** What a checkpoint signs, as of one moment: the ledger's head, and how far every run has come that has not ended. */
  homeState(): Promise<HomeState>;

  /** Of the database, without what is free in it. */
  usedBytes(): Promise<number>;
  /** Compresses runs that ended before, at most `limit`; reads give the same bytes. False when nothing is left to do. */
  archive(endedBefore: string, limit: number): Promise<boolean>;
  /** Takes what was removed out of the database's log as well. `store.busy` while another process reads it. */
  purge(): Promise<void>;
  /** A consistent copy while runs continue. */
  backup(toFile: string): Promise<void>;
  /** Flushes pending commits and releases everything. */
  close(): Promise<void>;
}
