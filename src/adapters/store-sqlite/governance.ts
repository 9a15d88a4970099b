/** Governance: tables, reads and writes. When a tier may be written: src/assistant/governance/governance-rules.ts. */
import { checkAdvanceTier } from "../../assistant/governance/governance-rules.ts";
import type { ModelTier } from "../../kernel/vocabulary/model-tier.ts";
import type { Page } from "../../runtime/ports/page.ts";
import {
  KEPT_MEASURED_RUNS,
  type StoredPerformance,
  type StoredPolicyChange,
  type StoredTier,
} from "../../runtime/ports/stored-governance.ts";
import type { Prepare, Tables } from "./connection.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const GOVERNANCE_TABLES: Tables = {
  17: `
  CREATE TABLE governance_runs (
    seq INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, tier TEXT NOT NULL, ended_at TEXT NOT NULL,
    measured TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX governance_runs_of_tier ON governance_runs (tier, seq);
  CREATE TABLE governance_changes (
    seq INTEGER PRIMARY KEY, tier TEXT NOT NULL, run_id TEXT, at TEXT NOT NULL, by TEXT NOT NULL, cause TEXT NOT NULL,
    change TEXT NOT NULL
  ) STRICT;
  CREATE TABLE governance_tiers (tier TEXT PRIMARY KEY, version INTEGER NOT NULL, record TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
  CREATE TABLE governance_place (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), ledger_seq INTEGER NOT NULL) STRICT;`,
};

const FORGET_OLDEST = `
  DELETE FROM governance_runs WHERE tier = ? AND seq <=
    (SELECT seq FROM governance_runs WHERE tier = ? ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_MEASURED_RUNS})`;

export const GOVERNANCE_WRITES: WriteHandlers<"record-performance" | "advance-tier"> = {
  "record-performance"({ prepare }, { ledgerSeq, performance }) {
    prepare("INSERT OR REPLACE INTO governance_place VALUES (1, ?)").run(ledgerSeq);
    if (performance === null) return;
    const { runId, tier, endedAt, measured, state } = performance;
    prepare(
      "INSERT OR IGNORE INTO governance_runs (run_id, tier, ended_at, measured, state) VALUES (?, ?, ?, ?, ?)",
    ).run(runId, tier, endedAt, measured, state);
    prepare(FORGET_OLDEST).run(tier, tier);
  },

  "advance-tier"({ prepare, appendLedger }, { tier: { tier, version, record }, change, draft }) {
    const stored = Number(prepare("SELECT version FROM governance_tiers WHERE tier = ?").get(tier)?.["version"] ?? 0);
    const runId = change?.runId ?? null;
    const isMeasured = prepare("SELECT 1 FROM governance_runs WHERE run_id = ?").get(runId) !== undefined;
    if (!mayWrite(checkAdvanceTier({ tier, version, record }, stored, change, isMeasured))) return;
    prepare("INSERT OR REPLACE INTO governance_tiers VALUES (?, ?, ?)").run(tier, version, record);
    if (change !== null) {
      prepare("INSERT INTO governance_changes (tier, run_id, at, by, cause, change) VALUES (?, ?, ?, ?, ?, ?)").run(
        tier,
        runId,
        change.at,
        change.by,
        change.cause,
        change.change,
      );
    }
    if (draft !== null) appendLedger(draft);
  },
};

export const GOVERNANCE_LISTS = {
  measuredRuns(prepare: Prepare, tier: ModelTier, { limit, offset }: Page): readonly StoredPerformance[] {
    const rows = prepare(
      `SELECT run_id AS runId, tier, ended_at AS endedAt, measured, state FROM governance_runs
       WHERE tier = ? ORDER BY seq DESC LIMIT ? OFFSET ?`,
    ).all(tier, limit, offset);
    return rows.map((row) => ({ ...row }) as unknown as StoredPerformance);
  },

  policyChanges(prepare: Prepare, { limit, offset }: Page): readonly (StoredPolicyChange & { readonly seq: number })[] {
    const rows = prepare(
      `SELECT seq, tier, run_id AS runId, at, by, cause, change FROM governance_changes
       ORDER BY seq DESC LIMIT ? OFFSET ?`,
    ).all(limit, offset);
    return rows.map((row) => ({ ...row }) as unknown as StoredPolicyChange & { readonly seq: number });
  },
};

export function governanceTiers(prepare: Prepare): readonly StoredTier[] {
  const rows = prepare("SELECT tier, version, record FROM governance_tiers ORDER BY tier").all();
  return rows.map((row) => ({ ...row }) as unknown as StoredTier);
}

export function measuredThrough(prepare: Prepare): number | null {
  const row = prepare("SELECT ledger_seq AS seq FROM governance_place").get();
  return row === undefined ? null : Number(row["seq"]);
}
