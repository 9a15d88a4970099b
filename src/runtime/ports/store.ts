/**
 * Everything durable, behind one commit (design: Durability). Writes are data, so that one transaction spans all of
 * them, whatever database carries it out.
 *
 * S1. The writes of one commit take effect together or not at all. A commit that is refused fails alone, whatever
 *     others shared its transaction.
 * S2. `commit` resolves when the writes survive a power cut. A `barrier` is flushed at once, together with everything
 *     given before it, and so is a `prompt` one; a `lazy` commit rides along with the next of them or goes after
 *     LAZY_FLUSH_MS.
 * S3. Commits take effect, and are acknowledged, in the order in which they were given.
 * S4. An append is accepted only on top of the head and the epoch its writer knows; the same append repeated succeeds.
 * S5. After a commit or a sync failed for the medium's sake nothing more is accepted: `store.unavailable` until reopened.
 * S6. Reads see what was committed durably before they were asked for. Every list is paged.
 */

import type { Body } from "../../kernel/journal/body.ts";
import type { LedgerDraft, LedgerEntry, LedgerHead, LedgerKind } from "../../kernel/journal/ledger.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { ApprovalId, BodyRef, CallId, Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";

export const LAZY_FLUSH_MS = 20;

export const RUN_STATUSES = ["queued", "running", "waiting_approval", "completed", "failed", "cancelled"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export interface NewRun {
  readonly runId: RunId;
  readonly agentId: string;
  readonly sessionId: SessionId;
  /** Where it came from: `http`, `cli`, a channel, `run` for a child. */
  readonly source: string;
  /** Runs of one lane go one at a time, in the order in which they were inserted. */
  readonly lane: string;
  readonly parentRunId: RunId | null;
  readonly model: string;
  readonly thinkingMode: "never" | "on_error" | "always";
  readonly contractHash: Hash;
  /** The sealed contract as canonical JSON in wire spelling. */
  readonly contract: string;
  /** What was found when the run was accepted, as JSON (`Acceptance`): enough to begin it, or begin it again. */
  readonly accepted: string;
  readonly createdAt: string;
}

/** What a list shows of an ended run, so that no list has to read journals. */
export interface RunEnding {
  /** Performed calls, failed ones too. */
  readonly toolCalls: number;
  /** Active time. */
  readonly durationMs: number;
  readonly headHash: Hash;
  readonly stateDigest: Hash;
  /** Of all that the run has seen, so of its answer. */
  readonly labels: Labels;
}

/** A key that may be a secret, and the request it was used for; of both, only hashes are kept. */
export interface Idempotency {
  readonly keyHash: Hash;
  readonly requestHash: Hash;
}

export interface StoredRun extends NewRun {
  readonly status: RunStatus;
  /** Who may append: grows when a run is claimed, so that an earlier owner's appends are refused. */
  readonly epoch: number;
  readonly outcome: Outcome | null;
  readonly reason: string | null;
  readonly answerRef: BodyRef | null;
  readonly endedAt: string | null;
  /** As its seal said; null until it has ended. */
  readonly ended: RunEnding | null;
  /** Who asked for it to be cancelled; null while nobody has. */
  readonly cancelledBy: string | null;
}

export interface PlacedRun extends StoredRun {
  /** Grows with every run inserted: the order of lanes and lists. */
  readonly position: number;
}

export type ApprovalState = "pending" | "allowed" | "denied" | "expired" | "consumed" | "done" | "retry" | "fail";

export interface StoredApproval {
  readonly id: ApprovalId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly callId: CallId;
  readonly step: number;
  /** `approve`: may this be done? `resolve`: was it done, before we were interrupted? */
  readonly kind: "approve" | "resolve";
  readonly tool: string;
  /** The plan as it is shown, a body. */
  readonly planRef: BodyRef;
  readonly planHash: Hash;
  readonly why: string;
  readonly labels: Labels;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly state: ApprovalState;
  readonly decidedBy: string | null;
  readonly decidedAtMs: number | null;
}

/** `forged`: the table says so and the ledger does not. It grants nothing. */
export type CapabilityState = "pending" | "granted" | "denied" | "revoked" | "forged";

/** Where a session stands with one capability, as the ledger says it. */
export interface StoredCapability {
  readonly capability: Capability;
  readonly state: CapabilityState;
  /** Who asked or decided, and when. */
  readonly by: string;
  readonly at: string;
  /** Of a grant; null: until it is revoked. */
  readonly expiresAt: string | null;
  /** The run that asked, while it is pending. */
  readonly runId: RunId | null;
}

export interface SessionCapability extends StoredCapability {
  readonly sessionId: SessionId;
}

export type CapabilityDecisionKind = "capability.granted" | "capability.denied" | "capability.revoked";

export interface SpendAmount {
  readonly microusd: number;
  readonly tokens: number;
}

/** A purse that spending counts against: `run:…`, `agent:…`, `job:…`, `all`; the period is a UTC day, or `ever`. */
export interface SpendScope {
  readonly scope: string;
  readonly period: string;
  readonly limitMicrousd: number | null;
  readonly limitTokens: number | null;
}

export interface SpendTotal extends SpendAmount {
  readonly scope: string;
  readonly period: string;
  /** As much of it as is reserved for inferences of runs that are under way. */
  readonly reserved: SpendAmount;
}

/** `prompt` goes as soon as a barrier does, but whoever gave it has other things to do than wait for it. */
export type Urgency = "barrier" | "eager" | "lazy";

export interface StoredBody extends Body {
  readonly ref: BodyRef;
}

export type Write =
  | {
      readonly type: "insert-session";
      readonly sessionId: SessionId;
      readonly agentId: string;
      readonly createdAt: string;
    }
  /** Refused as `store.conflict` when the id, the idempotency key or the inbound message is there already. */
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
      /** The head these entries stand on: the hash of entry `seq`, of 0 the chain's beginning. */
      readonly after: { readonly seq: number; readonly hash: Hash };
      /** Canonical lines of the entries that follow, and the hash of the last. */
      readonly lines: readonly string[];
      /** The same, once, as the kernel keeps them (`entry-encoding.ts`), for a store that would rather hold that; or null. */
      takeEncoded?(): readonly string[] | null;
      readonly head: Hash;
      /** What they name for the first time. */
      readonly bodies: readonly StoredBody[];
    }
  /** What others than its run will look for: messages, answers, plans. A body that is there already is left as it is. */
  | { readonly type: "put-bodies"; readonly sessionId: SessionId; readonly bodies: readonly StoredBody[] }
  | { readonly type: "claim-run"; readonly runId: RunId; readonly epoch: number }
  | { readonly type: "set-status"; readonly runId: RunId; readonly status: "queued" | "running" | "waiting_approval" }
  /** Its questions that nobody has answered expire with it. */
  | {
      readonly type: "seal-run";
      readonly runId: RunId;
      readonly outcome: Outcome;
      readonly reason: string | null;
      readonly answerRef: BodyRef | null;
      readonly endedAt: string;
      readonly ended: RunEnding;
    }
  /** Of an ended run, and the second time, nothing changes. */
  | { readonly type: "request-cancel"; readonly runId: RunId; readonly by: string }
  /** The same approval repeated is left as it is. */
  | { readonly type: "insert-approval"; readonly approval: StoredApproval }
  /** Refused as `store.conflict` unless it is pending. */
  | {
      readonly type: "decide-approval";
      readonly id: ApprovalId;
      readonly state: Exclude<ApprovalState, "pending" | "consumed">;
      readonly by: string;
      readonly atMs: number;
    }
  /** Refused as `store.conflict` unless it was allowed for this plan; repeated for the same call it succeeds. */
  | { readonly type: "consume-approval"; readonly id: ApprovalId; readonly planHash: Hash; readonly atMs: number }
  /**
   * A model asks; the ledger says so in the same transaction. Of what is pending or granted, and once
   * MAX_PENDING_CAPABILITIES wait in the session, nothing changes and nothing is said.
   */
  | { readonly type: "request-capability"; readonly draft: LedgerDraft<"capability.requested"> }
  /**
   * An operator decides; the ledger says so in the same transaction. Refused as `store.conflict` when there is no such
   * session, when the nonce was used before, when what is denied is not pending or what is revoked neither granted nor forged.
   */
  | {
      readonly [K in CapabilityDecisionKind]: { readonly type: "decide-capability"; readonly draft: LedgerDraft<K> };
    }[CapabilityDecisionKind]
  /** What a reservation turned out to cost. Of one that was never made, or is settled, nothing changes. */
  | {
      readonly type: "settle-spend";
      readonly runId: RunId;
      readonly epoch: number;
      readonly attempt: number;
      readonly amount: SpendAmount;
    }
  /** Gives back what was reserved under this epoch and not settled. What an earlier owner left unsettled stays spent. */
  | { readonly type: "release-spend"; readonly runId: RunId; readonly epoch: number }
  /**
   * Counts against every scope, or, when one of them would pass its limit, against none (`CommitResult.spend`). Where one
   * was made before for this attempt under this epoch, only what is more than that counts, and once it is settled nothing
   * does; one of an earlier epoch may have been used up, so the attempt is counted anew.
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
   * What was spent, or by a negative amount not spent after all, without a reservation. Never refused, and counted each time.
   * Of a run it is all that the run has used: what its settled reservations have counted is taken off.
   */
  | {
      readonly type: "count-spend";
      readonly runId: RunId | null;
      readonly amount: SpendAmount;
      readonly scopes: readonly Pick<SpendScope, "scope" | "period">[];
    }
  | { readonly [K in LedgerKind]: { readonly type: "append-ledger"; readonly draft: LedgerDraft<K> } }[LedgerKind]
  | {
      readonly type: "insert-outbox";
      readonly id: string;
      readonly runId: RunId;
      readonly channel: string;
      readonly bodyRef: BodyRef;
      readonly createdAt: string;
    }
  | { readonly type: "settle-outbox"; readonly id: string; readonly state: "sent" | "failed" | "ambiguous" }
  /**
   * A place among the sends that need no approval (P-3.3). Refused as `store.conflict` when `limit` others were taken
   * after `sinceMs`; one that was itself taken after `sinceMs` stays as it is.
   */
  | {
      readonly type: "take-send-slot";
      readonly id: Hash;
      readonly atMs: number;
      readonly sinceMs: number;
      readonly limit: number;
    };

export interface CommitResult {
  /** What became of the commit's reservation; null when it made none. */
  readonly spend:
    | { readonly granted: true }
    | {
        readonly granted: false;
        readonly scope: string;
        readonly by: "microusd" | "tokens";
        /** Of that: what was asked for beyond what is reserved already, and what the limit has left. */
        readonly needed: number;
        readonly left: number;
      }
    | null;
}

export type StoreErrorCode =
  | "store.fenced"
  | "store.conflict"
  /** Nothing can be written now: full disk, failed sync, lost medium. */
  | "store.unavailable"
  /** Another process holds the database for too long; trying again may help. */
  | "store.busy"
  | "store.corrupt"
  | "store.newer-schema"
  | "store.read-only"
  /** Another gateway runs on this home. */
  | "store.in-use"
  | "store.closed";

/** Every way a store refuses, by name; the message says what to do and holds no content. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

export interface OutboxRow {
  readonly id: string;
  readonly runId: RunId;
  readonly channel: string;
  readonly bodyRef: BodyRef;
  readonly createdAt: string;
  readonly state: "waiting" | "sent" | "failed" | "ambiguous";
}

export interface Store {
  /** Made up when the home was; names the ledger's chain. */
  readonly homeId: string;
  commit(writes: readonly Write[], urgency: Urgency): Promise<CommitResult>;

  findRun(runId: RunId): Promise<PlacedRun | null>;
  /** The run, and the request its key was used for. */
  findRunByKey(keyHash: Hash): Promise<{ readonly run: StoredRun; readonly requestHash: Hash } | null>;
  findRunByMessage(channel: string, messageId: string): Promise<StoredRun | null>;
  hasSession(sessionId: SessionId): Promise<boolean>;
  /** Journal lines after `seq`, at most `limit`. */
  readEntries(runId: RunId, after: number, limit: number): Promise<readonly string[]>;
  /** The last entry of a run; null before the first. */
  headOf(runId: RunId): Promise<{ readonly seq: number; readonly hash: Hash } | null>;
  /** Those that are there: what is missing was erased. */
  /** Those of a session that were put; with a run, also what its entries brought. */
  readBodies(sessionId: SessionId, refs: readonly BodyRef[], runId: RunId | null): Promise<ReadonlyMap<BodyRef, Body>>;
  approvalsOf(runId: RunId): Promise<readonly StoredApproval[]>;
  findApproval(id: ApprovalId): Promise<StoredApproval | null>;
  /** Of one session, by name. */
  capabilitiesOf(sessionId: SessionId): Promise<readonly StoredCapability[]>;

  /** Runs that have not ended, in order of position, after `position`. */
  openRuns(after: number, limit: number): Promise<readonly PlacedRun[]>;
  /** Newest first. */
  listRuns(
    filter: { readonly status?: RunStatus } & Page,
  ): Promise<{ readonly runs: readonly StoredRun[]; readonly total: number }>;
  /** The last ended runs of a session, oldest first. */
  sessionRuns(sessionId: SessionId, limit: number): Promise<readonly StoredRun[]>;
  pendingApprovals(page: Page): Promise<readonly StoredApproval[]>;
  /** What sessions ask for and the table calls pending, the longest waiting first. */
  pendingCapabilities(page: Page): Promise<readonly SessionCapability[]>;
  /** Where every session stands with every capability, to be compared with the ledger. */
  allCapabilities(page: Page): Promise<readonly SessionCapability[]>;
  waitingOutbox(page: Page): Promise<readonly OutboxRow[]>;
  spendTotals(period: string): Promise<readonly SpendTotal[]>;
  readLedger(after: number, limit: number): Promise<readonly LedgerEntry[]>;
  ledgerHead(): Promise<LedgerHead>;

  /** A consistent copy while work goes on. */
  backup(toFile: string): Promise<void>;
  /** Flushes what was given and lets go of everything. */
  close(): Promise<void>;
}
