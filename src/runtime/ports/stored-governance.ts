/** What is stored of governance (M-P4): measured runs, the changes they caused, and what is known about each tier. */
import type { ChangeCause } from "../../kernel/governance/governor.ts";
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { ModelTier } from "../../kernel/vocabulary/model-tier.ts";
import type { Page } from "./page.ts";

/** A run with its PerfVector. */
export interface StoredPerformance {
  readonly runId: RunId;
  readonly tier: ModelTier;
  readonly endedAt: string;
  /** `Measured` as JSON. */
  readonly measured: string;
  /** The PolicyState of its contract, as JSON. */
  readonly state: string;
}

/** A change of a PolicyState (M-P4d). */
export interface StoredPolicyChange {
  readonly tier: ModelTier;
  /** The run that triggered it; null for an operator's. */
  readonly runId: RunId | null;
  readonly at: string;
  readonly by: string;
  readonly cause: ChangeCause;
  /** `PolicyChange` as JSON. */
  readonly change: string;
}

export interface StoredTier {
  readonly tier: ModelTier;
  /** Grows by one with each write. */
  readonly version: number;
  /** `TierRecord` as JSON. */
  readonly record: string;
}

export interface GovernanceReads {
  readonly governanceTiers: () => Promise<readonly StoredTier[]>;
  /** The seq of the ledger up to which ended runs are measured; null before the first. */
  readonly measuredThrough: () => Promise<number | null>;
  /** The last ones, newest first. */
  measuredRuns(tier: ModelTier, page: Page): Promise<readonly StoredPerformance[]>;
  /** Newest first. */
  policyChanges(page: Page): Promise<readonly (StoredPolicyChange & { readonly seq: number })[]>;
}

/** Measured runs of a tier that are kept. */
export const KEPT_MEASURED_RUNS = 1_000;

export type GovernanceWrite =
  /**
   * How far the ledger was read, with the performance of the run there, if it was measured. Changes nothing when repeated;
   * the oldest runs of the tier are forgotten.
   */
  | { readonly type: "record-performance"; readonly ledgerSeq: number; readonly performance: StoredPerformance | null }
  /**
   * What is known about a tier after a run, or after an operator's decision, with the change and its ledger entry.
   * `store.conflict` unless `version` follows the stored one, and unless the run that triggers a change is measured.
   */
  | {
      readonly type: "advance-tier";
      readonly tier: StoredTier;
      readonly change: StoredPolicyChange | null;
      /** Null where the state stays. */
      readonly draft: LedgerDraft<"policy.delta"> | LedgerDraft<"policy.decided"> | null;
    };
