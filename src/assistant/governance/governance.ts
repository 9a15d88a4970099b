/**
 * Governance owns what is known about each tier of models, and moves it on after runs have ended (M-P4). The kernel decides
 * what changes (`kernel/governance`); runs are never touched.
 *
 * G1. The ledger says in which order runs ended. Each is measured once: its vector is durable first, then what follows from
 *     it, in one transaction with the change and its ledger entry. After a crash in between, the rest follows at the next
 *     start.
 * G2. A contract that is drafted gets the state of that moment. Changes are made one after the other.
 * G3. What is stored is clamped before it is used.
 */
import {
  type Advanced,
  advance,
  frozen,
  newTier,
  type PolicyChange,
  rolledBack,
  type TierRecord,
} from "../../kernel/governance/governor.ts";
import type { Measured } from "../../kernel/governance/perf-vector.ts";
import { clamped, isSameState, type PolicyState } from "../../kernel/governance/policy-state.ts";
import { TIER_RULES, type TierRules } from "../../kernel/governance/tier-rules.ts";
import { hashWire } from "../../kernel/vocabulary/hash.ts";
import { asRunId, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import { MODEL_TIERS, type ModelTier } from "../../kernel/vocabulary/model-tier.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { Page } from "../../runtime/ports/page.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { StoredPerformance, StoredPolicyChange, StoredTier } from "../../runtime/ports/stored-governance.ts";
import { measureEndedRun } from "./measure-ended-run.ts";

export interface GovernanceSettings {
  readonly enabled: boolean;
  /** Where they differ from the tier's own. */
  readonly warmupRuns?: number | undefined;
  readonly windowRuns?: number | undefined;
  readonly freezeRuns?: number | undefined;
}

export interface GovernanceParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly settings: () => GovernanceSettings;
  readonly tierOf: (model: string) => ModelTier;
}

interface KnownTier {
  readonly version: number;
  readonly record: TierRecord;
}

/** A record as it is stored: its last runs are in a table of their own. */
type StoredRecord = Omit<TierRecord, "recent"> & { readonly recentRuns: number; readonly lastRunId: string | null };

export interface MeasuredRun {
  readonly runId: RunId;
  readonly tier: ModelTier;
  readonly endedAt: string;
  readonly measured: Measured;
  readonly state: PolicyState;
}

export interface RecordedChange extends Omit<StoredPolicyChange, "change"> {
  readonly seq: number;
  readonly change: PolicyChange;
}

const LEDGER_PAGE = 100;
const SYSTEM = "governance";

export class Governance {
  readonly #parts: GovernanceParts;
  #tiers: Promise<Map<ModelTier, KnownTier>> | null = null;
  #begun: Promise<void> | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: GovernanceParts) {
    this.#parts = parts;
  }

  /** For a contract that is drafted now. */
  async stateFor(model: string): Promise<PolicyState> {
    await this.#begin();
    return (await this.tier(this.#parts.tierOf(model))).state;
  }

  async tier(tier: ModelTier): Promise<TierRecord> {
    return ((await this.#load()).get(tier) as KnownTier).record;
  }

  rulesOf(tier: ModelTier): TierRules {
    const { warmupRuns, windowRuns, freezeRuns } = this.#parts.settings();
    const own = TIER_RULES[tier];
    return {
      ...own,
      warmupRuns: warmupRuns ?? own.warmupRuns,
      windowRuns: windowRuns ?? own.windowRuns,
      freezeRuns: freezeRuns ?? own.freezeRuns,
    };
  }

  /** Measures runs that have ended; false when none is left. */
  measureEnded(maxRuns: number): Promise<boolean> {
    return this.#inTurn(async () => {
      const { store } = this.#parts;
      await this.#begin();
      const page = await store.readLedger((await store.measuredThrough()) ?? 0, LEDGER_PAGE);
      const sealed = page.filter((entry) => entry.kind === "run.sealed");
      for (const { seq, data } of sealed.slice(0, maxRuns)) await this.#measure(seq, data.runId);
      const last = page.at(-1);
      if (sealed.length > maxRuns || last === undefined) return sealed.length > maxRuns;
      if (last.seq > (sealed.at(-1)?.seq ?? 0)) await this.#readThrough(last.seq, null);
      return page.length === LEDGER_PAGE;
    });
  }

  /** An operator's: to the best other checkpoint. */
  rollBack(tier: ModelTier, by: string, runs: number | null): Promise<TierRecord> {
    return this.#decide(tier, by, (record) => rolledBack(record, runs ?? this.rulesOf(tier).freezeRuns));
  }

  /** An operator's; 0 runs thaw it. */
  freeze(tier: ModelTier, by: string, runs: number | null): Promise<TierRecord> {
    return this.#decide(tier, by, (record) => frozen(record, runs ?? this.rulesOf(tier).freezeRuns));
  }

  async history(page: Page): Promise<readonly RecordedChange[]> {
    const changes = await this.#parts.store.policyChanges(page);
    return changes.map((row) => ({ ...row, change: JSON.parse(row.change) as PolicyChange }));
  }

  async runs(tier: ModelTier, page: Page): Promise<readonly MeasuredRun[]> {
    return (await this.#parts.store.measuredRuns(tier, page)).map(readPerformance);
  }

  async #measure(ledgerSeq: number, runId: RunId): Promise<void> {
    const { store, tierOf } = this.#parts;
    const ending = await measureEndedRun(store, runId);
    if (ending === null) return this.#readThrough(ledgerSeq, null);
    const { run, measured, state } = ending;
    const tier = tierOf(run.model);
    const performance: StoredPerformance = {
      ...{ runId, tier, endedAt: run.endedAt ?? run.createdAt },
      ...{ measured: JSON.stringify(measured), state: JSON.stringify(state) },
    };
    await this.#readThrough(ledgerSeq, performance);
    await this.#follow(await this.#load(), { runId, tier, endedAt: performance.endedAt, measured, state });
  }

  async #readThrough(ledgerSeq: number, performance: StoredPerformance | null): Promise<void> {
    await this.#parts.store.commit([{ type: "record-performance", ledgerSeq, performance }], "lazy");
  }

  /** What follows from a measured run. */
  async #follow(tiers: Map<ModelTier, KnownTier>, { runId, tier, measured, state }: MeasuredRun): Promise<void> {
    const { record } = tiers.get(tier) as KnownTier;
    const advanced = advance(record, { runId, state, measured }, this.rulesOf(tier));
    await this.#write(tiers, tier, advanced, runId, SYSTEM);
  }

  #decide(tier: ModelTier, by: string, decide: (record: TierRecord) => Advanced): Promise<TierRecord> {
    return this.#inTurn(async () => {
      await this.#begin();
      const tiers = await this.#load();
      const { record } = tiers.get(tier) as KnownTier;
      return await this.#write(tiers, tier, decide(record), null, by);
    });
  }

  async #write(
    tiers: Map<ModelTier, KnownTier>,
    tier: ModelTier,
    { record, change }: Advanced,
    runId: RunId | null,
    by: string,
  ): Promise<TierRecord> {
    const { store, clock } = this.#parts;
    const known = tiers.get(tier) as KnownTier;
    const version = known.version + 1;
    const at = timestampOf(clock.nowMs());
    const { recent, ...rest } = record;
    const lastRunId = runId ?? (await this.#lastRunOf(tier));
    const stored: StoredRecord = { ...rest, recentRuns: recent.length, lastRunId };
    const write = {
      type: "advance-tier",
      tier: { tier, version, record: JSON.stringify(stored) },
      change: change && { tier, runId, at, by, cause: change.cause, change: JSON.stringify(change) },
      draft: change && draftOf(tier, change, runId, at, by),
    } as const;
    try {
      await store.commit([write], change === null ? "lazy" : "barrier");
    } catch (error) {
      // What is stored may be another's: read it again.
      this.#tiers = null;
      throw error;
    }
    tiers.set(tier, { version, record });
    return record;
  }

  async #lastRunOf(tier: ModelTier): Promise<string | null> {
    const [last] = await this.#parts.store.measuredRuns(tier, { limit: 1, offset: 0 });
    return last?.runId ?? null;
  }

  /** Before the first state is given out, or the first run is measured. Who only looks changes nothing. */
  #begin(): Promise<void> {
    this.#begun ??= this.#prepare().catch((error: unknown) => {
      this.#begun = null;
      throw error;
    });
    return this.#begun;
  }

  async #prepare(): Promise<void> {
    const { store } = this.#parts;
    // Runs that ended before there was any governance say nothing about it.
    if ((await store.measuredThrough()) === null) await this.#readThrough((await store.ledgerHead()).seq, null);
    const tiers = await this.#load();
    const stored = await store.governanceTiers();
    for (const tier of MODEL_TIERS) {
      const row = stored.find((each) => each.tier === tier);
      await this.#catchUp(tiers, tier, row);
    }
  }

  #load(): Promise<Map<ModelTier, KnownTier>> {
    this.#tiers ??= this.#read().catch((error: unknown) => {
      this.#tiers = null;
      throw error;
    });
    return this.#tiers;
  }

  async #read(): Promise<Map<ModelTier, KnownTier>> {
    const { store } = this.#parts;
    const stored = await store.governanceTiers();
    const tiers = new Map<ModelTier, KnownTier>();
    for (const tier of MODEL_TIERS) {
      const row = stored.find((each) => each.tier === tier);
      tiers.set(tier, row === undefined ? { version: 0, record: newTier(tier) } : await this.#readTier(row, tier));
    }
    return tiers;
  }

  async #readTier({ version, record: text }: StoredTier, tier: ModelTier): Promise<KnownTier> {
    const { recentRuns, lastRunId, ...rest } = JSON.parse(text) as StoredRecord;
    const state = clamped(rest.state, tier);
    // Among the last runs are such as had begun before the state changed, and maybe one that nothing followed from yet.
    const rows = recentRuns === 0 ? [] : await this.runs(tier, { limit: 4 * recentRuns + 1, offset: 0 });
    const followed = rows.slice(
      Math.max(
        0,
        rows.findIndex(({ runId }) => runId === lastRunId),
      ),
    );
    const under = followed.filter((run) => isSameState(run.state, state)).slice(0, recentRuns);
    return { version, record: { ...rest, tier, state, recent: under.map(({ measured }) => measured).reverse() } };
  }

  /** A crash came between a run's vector and what follows from it. */
  async #catchUp(tiers: Map<ModelTier, KnownTier>, tier: ModelTier, row: StoredTier | undefined): Promise<void> {
    const [last] = await this.runs(tier, { limit: 1, offset: 0 });
    const lastRunId = row === undefined ? null : (JSON.parse(row.record) as StoredRecord).lastRunId;
    if (last !== undefined && last.runId !== lastRunId) await this.#follow(tiers, last);
  }

  #inTurn<Done>(change: () => Promise<Done>): Promise<Done> {
    const done = this.#turn.then(change);
    this.#turn = done.catch(() => {});
    return done;
  }
}

function draftOf(
  tier: ModelTier,
  { cause, before, after }: PolicyChange,
  runId: RunId | null,
  at: string,
  actor: string,
) {
  if (runId === null) {
    const data = { tier, before: hashWire(before), after: hashWire(after) };
    return { kind: "policy.decided", ts: at, actor, data } as const;
  }
  if (cause === "kept") return null;
  return {
    kind: "policy.delta",
    ts: at,
    actor,
    data: { runId, before: hashWire(before), after: hashWire(after) },
  } as const;
}

function readPerformance({ runId, tier, endedAt, measured, state }: StoredPerformance): MeasuredRun {
  return {
    ...{ runId: asRunId(runId), tier, endedAt },
    ...{ measured: JSON.parse(measured) as Measured, state: JSON.parse(state) as PolicyState },
  };
}
