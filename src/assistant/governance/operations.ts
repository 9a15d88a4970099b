/** Operations on governance (M-P4): what is in force, how it came about, and an operator's rollback and freeze. */
import { type Static, Type } from "typebox";
import { type Averages, scoreOf } from "../../kernel/governance/averages.ts";
import { CAUSES, type TierRecord } from "../../kernel/governance/governor.ts";
import { DOMINANCES, SIGNALS } from "../../kernel/governance/perf-vector.ts";
import { readOnlyCallsPerTurn, TIER_BOUNDS } from "../../kernel/governance/policy-state.ts";
import type { Proposal } from "../../kernel/governance/propose-mutation.ts";
import type { TierRules } from "../../kernel/governance/tier-rules.ts";
import { MODEL_TIERS, type ModelTier } from "../../kernel/vocabulary/model-tier.ts";
import { Count, closed, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import { toWire } from "../../kernel/vocabulary/wire-case.ts";
import { Nothing, pageFields, pageOf } from "../../runtime/operations/input-schemas.ts";
import { operationsOver, refuse } from "../../runtime/operations/operation.ts";
import type { Governance, MeasuredRun, RecordedChange } from "./governance.ts";

export interface GovernanceServices {
  readonly governance: {
    readonly isEnabled: () => boolean;
    /** Loads it. */
    readonly open: () => Promise<Pick<Governance, "tier" | "rulesOf" | "history" | "runs" | "rollBack" | "freeze">>;
  };
}

const Text = Type.String();
const Tier = Type.Enum([...MODEL_TIERS]);
const State = Type.Object({
  retry_tolerance: Type.Number(),
  step_limit_multiplier: Type.Number(),
  autonomy_bias: Type.Number(),
  verbosity_bias: Type.Number(),
  critique_enabled: Type.Boolean(),
});
const Vector = Type.Object({
  protocol_compliance: Type.Number(),
  retry_count: Count,
  budget_efficiency: Type.Number(),
  duplicate_call_ratio: Type.Number(),
  anomaly_ignored_count: Count,
  hard_failures: Count,
});
const Bounds = Type.Object({ least: Type.Number(), most: Type.Number() });
const Rolling = Type.Object({ runs: Count, score: Type.Number(), costs: Type.Record(Text, Type.Number()) });
const ProposalSchema = Type.Object({
  parameter: Text,
  direction: Type.Enum([1, -1]),
  /** The dimension that must get better. */
  aim: Text,
  signal: Type.Enum([...SIGNALS]),
});

const TierSchema = Type.Object({
  tier: Tier,
  state: State,
  bounds: Type.Record(Text, Bounds),
  /** Read-only calls that one turn may make; null: as many as the model proposes. */
  read_only_calls: nullable(Count),
  runs: Count,
  warmup_runs: Count,
  window_runs: Count,
  freeze_runs: Count,
  /** A cost that got worse by more than this is a regression. */
  tolerance: Type.Number(),
  frozen_runs: Count,
  averages: Rolling,
  /** Null: no mutation is on trial. */
  trial: nullable(Type.Object({ proposal: ProposalSchema, before: State, averages: Rolling })),
  checkpoints: Type.Array(Type.Object({ state: State, run_id: Text, averages: Rolling })),
  pauses: Type.Array(
    Type.Object({ parameter: Text, direction: Type.Enum([1, -1]), failed_trials: Count, until_run: Count }),
  ),
});
export type GovernedTier = Static<typeof TierSchema>;

const ChangeSchema = Type.Object({
  seq: Count,
  tier: Tier,
  /** The run that triggered it; null for an operator's. */
  run_id: nullable(Text),
  at: Text,
  by: Text,
  cause: Type.Enum([...CAUSES]),
  before: State,
  after: State,
  proposal: nullable(ProposalSchema),
  /** The dimension that got worse. */
  worse: nullable(Text),
  frozen_runs: Count,
});
export type GovernanceChange = Static<typeof ChangeSchema>;

const RunSchema = Type.Object({
  run_id: Text,
  tier: Tier,
  ended_at: Text,
  dominance: Type.Enum([...DOMINANCES]),
  signals: Type.Array(Type.Enum([...SIGNALS])),
  vector: Vector,
  /** Of the run's contract. */
  state: State,
});
export type GovernedRun = Static<typeof RunSchema>;

const OFF = "governance is off: surety config set governance.enabled true";
const Runs = Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 }));

const { json } = operationsOver<GovernanceServices>();

export const governanceOperations = [
  json({
    name: "governance.show",
    method: "GET",
    path: "/api/governance",
    scope: "operate",
    summary:
      "shows for each tier of models the policy state in force, its bounds, what is on trial or frozen, and the checkpoints",
    hasEtag: true,
    input: Nothing,
    output: Type.Object({ enabled: Type.Boolean(), tiers: Type.Array(TierSchema) }),
    async call({ governance }) {
      const opened = await governance.open();
      const tiers = await Promise.all(
        MODEL_TIERS.map(async (tier) => tierView(await opened.tier(tier), opened.rulesOf(tier))),
      );
      return { ok: true, value: { enabled: governance.isEnabled(), tiers } };
    },
  }),
  json({
    name: "governance.history",
    method: "GET",
    path: "/api/governance/history",
    scope: "operate",
    summary: "lists the changes of policy states, newest first, each with the run that triggered it",
    hasEtag: true,
    input: Type.Object(pageFields, closed),
    output: Type.Object({ changes: Type.Array(ChangeSchema) }),
    async call({ governance }, input) {
      const changes = await (await governance.open()).history(pageOf(input));
      return { ok: true, value: { changes: changes.map(changeView) } };
    },
  }),
  json({
    name: "governance.runs",
    method: "GET",
    path: "/api/governance/runs",
    scope: "operate",
    summary: "lists the measured runs of a tier (`?tier=`) with their vectors, newest first; the last 1,000 are kept",
    hasEtag: true,
    input: Type.Object({ tier: Tier, ...pageFields }, closed),
    output: Type.Object({ runs: Type.Array(RunSchema) }),
    async call({ governance }, { tier, ...page }) {
      const runs = await (await governance.open()).runs(tier, pageOf(page));
      return { ok: true, value: { runs: runs.map(runView) } };
    },
  }),
  json({
    name: "governance.rollback",
    method: "POST",
    path: "/api/governance/rollback",
    scope: "admin",
    summary:
      "takes a tier (`{tier}`) back to the best checkpoint of another state, or to the neutral one, and freezes it for `runs` runs",
    input: Type.Object({ tier: Tier, runs: Runs }, closed),
    output: TierSchema,
    call: ({ governance }, { tier, runs = null }, { principal }) =>
      decided(governance, tier, (opened) => opened.rollBack(tier, principal, runs)),
  }),
  json({
    name: "governance.freeze",
    method: "POST",
    path: "/api/governance/freeze",
    scope: "admin",
    summary: "keeps a tier (`{tier}`) as it is for `runs` runs; a mutation on trial is taken back, and 0 runs thaw it",
    input: Type.Object({ tier: Tier, runs: Runs }, closed),
    output: TierSchema,
    call: ({ governance }, { tier, runs = null }, { principal }) =>
      decided(governance, tier, (opened) => opened.freeze(tier, principal, runs)),
  }),
] as const;

async function decided(
  governance: GovernanceServices["governance"],
  tier: ModelTier,
  decide: (opened: Awaited<ReturnType<GovernanceServices["governance"]["open"]>>) => Promise<TierRecord>,
) {
  if (!governance.isEnabled()) return refuse("conflict", OFF);
  const opened = await governance.open();
  return { ok: true, value: tierView(await decide(opened), opened.rulesOf(tier)) } as const;
}

function tierView(record: TierRecord, rules: TierRules): GovernedTier {
  const { tier, state, runs, frozenRuns, averages, trial, checkpoints, pauses } = record;
  return {
    tier,
    state: toWire(state),
    bounds: renamed(TIER_BOUNDS[tier], ({ least, most }) => ({ least, most })),
    read_only_calls: readOnlyCallsPerTurn(state),
    ...{ runs, warmup_runs: rules.warmupRuns, window_runs: rules.windowRuns, freeze_runs: rules.freezeRuns },
    ...{ tolerance: rules.tolerance, frozen_runs: frozenRuns, averages: rolling(averages) },
    trial: trial && {
      proposal: proposalView(trial.proposal),
      before: toWire(trial.before),
      averages: rolling(trial.averages),
    },
    checkpoints: checkpoints.map((each) => {
      return { state: toWire(each.state), run_id: each.runId, averages: rolling(each.averages) };
    }),
    pauses: pauses.map(({ parameter, direction, failedTrials, untilRun }) => {
      return { parameter: wireName(parameter), direction, failed_trials: failedTrials, until_run: untilRun };
    }),
  };
}

function changeView({ seq, tier, runId, at, by, change }: RecordedChange): GovernanceChange {
  const { cause, before, after, proposal, worse, frozenRuns } = change;
  return {
    ...{ seq, tier, run_id: runId, at, by, cause, before: toWire(before), after: toWire(after) },
    proposal: proposal && proposalView(proposal),
    ...{ worse: worse && wireName(worse), frozen_runs: frozenRuns },
  };
}

function runView({ runId, tier, endedAt, measured, state }: MeasuredRun): GovernedRun {
  const { dominance, signals, vector } = measured;
  return {
    ...{ run_id: runId, tier, ended_at: endedAt, dominance, signals: [...signals] },
    ...{ vector: toWire(vector), state: toWire(state) },
  };
}

function proposalView({ parameter, direction, aim, signal }: Proposal): Static<typeof ProposalSchema> {
  return { parameter: wireName(parameter), direction, aim: wireName(aim), signal };
}

function rolling(averages: Averages): Static<typeof Rolling> {
  return { runs: averages.runs, score: scoreOf(averages), costs: renamed(averages.costs, ({ mean }) => mean) };
}

function renamed<From, To>(record: Readonly<Record<string, From>>, value: (from: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, each]) => [wireName(name), value(each)]));
}

/** As parameters and dimensions are called on the wire. */
function wireName(name: string): string {
  return name.replaceAll(/[A-Z]/gu, (capital) => `_${capital.toLowerCase()}`);
}
