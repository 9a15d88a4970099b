/** `surety governance show|history|rollback|freeze`: what governance does to later runs, and how to stop it (M-P4). */
import { plural } from "../../adapters/terminal/quantities.ts";
import type { GovernanceChange, GovernedTier } from "../../assistant/governance/operations.ts";
import type { OperationClient } from "../../assistant/operations.ts";
import { MODEL_TIERS, type ModelTier } from "../../kernel/vocabulary/model-tier.ts";
import { usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";

const HINTS: Readonly<Record<string, string>> = {
  conflict: "Turn it on: surety config set governance.enabled true.",
};
const hintFor = (code: string): string => HINTS[code] ?? "See surety governance --help.";

const TIER = { tier: { type: "string", value: "TIER", summary: "cheap, mid or premium" } } as const;
const RUNS = {
  type: "string",
  value: "N",
  summary: "for so many runs; by default as many as the tier's own rule says",
} as const;
const RUNS_RANGE = { least: 0, most: 100_000, example: 50 };

const show: Action = {
  summary: "show what is in force for each tier of models, on trial or frozen",
  options: { tier: { ...TIER.tier, summary: "this tier alone: cheap, mid or premium" } },
  examples: ["surety governance show", "surety governance show --tier mid --json"],
  run: (context) => {
    const wanted = tierIn(context);
    return withOperations(context, async (operations) => {
      const { enabled, tiers } = valueIn(await operations.call("governance.show", {}), hintFor);
      const shown = wanted === null ? tiers : tiers.filter(({ tier }) => tier === wanted);
      const { output } = context;
      output.result({ enabled, tiers: shown }, () => {
        if (!enabled) output.line("governance is off: surety config set governance.enabled true");
        output.table(
          ["TIER", "RETRIES", "STEP LIMITS", "CALLS A TURN", "ANSWER LENGTH", "CRITIC", "RUNS", "SCORE", ""],
          shown.map(rowOf),
        );
      });
    });
  },
};

const history: Action = {
  summary: "list what was changed, newest first, and by which run",
  options: { limit: { type: "string", value: "N", summary: "so many changes; 20 by default" } },
  examples: ["surety governance history", "surety governance history --limit 5 --json"],
  run: (context) => {
    const limit = context.options.integer("limit", { least: 1, most: 500, example: 20 }) ?? 20;
    return withOperations(context, async (operations) => {
      const listed = valueIn(await operations.call("governance.history", { limit }), hintFor);
      const { output } = context;
      output.result(listed, () => {
        if (listed.changes.length === 0) return output.line("nothing was changed yet");
        output.table(
          ["AT", "TIER", "WHAT", "WHY", "RUN"],
          listed.changes.map((change) => [
            ...[change.at, change.tier, whatChanged(change), whyChanged(change)],
            change.run_id ?? change.by,
          ]),
        );
      });
    });
  },
};

const rollback: Action = {
  summary: "take a tier back to its best earlier state, and freeze it",
  options: { ...TIER, runs: RUNS },
  examples: ["surety governance rollback --tier mid", "surety governance rollback --tier mid --runs 100"],
  run: (context) => decide(context, "rollback"),
};

const freeze: Action = {
  summary: "keep a tier as it is for a number of runs; --runs 0 thaws it",
  options: { ...TIER, runs: RUNS },
  examples: ["surety governance freeze --tier mid --runs 100", "surety governance freeze --tier mid --runs 0"],
  run: (context) => decide(context, "freeze"),
};

export const command: Command = { actions: { show, history, rollback, freeze } };

function decide(context: CommandContext, act: "rollback" | "freeze"): Promise<void> {
  const asked = tierIn(context);
  const runs = context.options.integer("runs", RUNS_RANGE);
  return withOperations(context, async (operations) => {
    const tier = asked ?? (await onlyTier(operations));
    const input = { tier, ...(runs === undefined ? {} : { runs }) };
    const decided = valueIn(await operations.call(`governance.${act}`, input), hintFor);
    const { output } = context;
    output.result(decided, () => {
      output.line(`${tier}: ${stateText(decided)}`);
      output.line(decided.frozen_runs === 0 ? "not frozen" : `frozen for ${plural(decided.frozen_runs, "run")}`);
    });
  });
}

/** The tier of all measured runs, where there is one. */
async function onlyTier(operations: OperationClient): Promise<ModelTier> {
  const { tiers } = valueIn(await operations.call("governance.show", {}), hintFor);
  const [first, ...others] = tiers.filter(({ runs }) => runs > 0);
  if (first === undefined || others.length > 0) throw usageError("--tier is required", "Tiers: cheap, mid, premium.");
  return first.tier;
}

function tierIn({ options }: CommandContext): ModelTier | null {
  const text = options.text("tier");
  if (text === undefined) return null;
  const tier = MODEL_TIERS.find((each) => each === text);
  if (tier === undefined) throw usageError("--tier must be cheap, mid or premium", "A model's tier is in the config.");
  return tier;
}

function rowOf(tier: GovernedTier): readonly string[] {
  const { state, read_only_calls, runs, averages } = tier;
  return [
    ...[tier.tier, String(state.retry_tolerance), `× ${state.step_limit_multiplier}`],
    ...[read_only_calls === null ? "any" : String(read_only_calls), lengthText(state.verbosity_bias)],
    ...[state.critique_enabled ? "on" : "off", String(runs), runs === 0 ? "-" : averages.score.toFixed(2)],
    remarkOn(tier),
  ];
}

function lengthText(bias: number): string {
  return `× ${(1.5 ** bias).toFixed(2).replace(/\.?0+$/u, "")}`;
}

function remarkOn({ trial, frozen_runs, runs, warmup_runs, window_runs }: GovernedTier): string {
  if (frozen_runs > 0) return `frozen for ${plural(frozen_runs, "run")}`;
  if (trial !== null) {
    const { parameter, signal } = trial.proposal;
    return `on trial: ${parameter}, for ${signal}, run ${trial.averages.runs} of ${window_runs}`;
  }
  return runs < warmup_runs ? `warming up: ${runs} of ${warmup_runs} runs` : "";
}

function stateText({ state, read_only_calls }: GovernedTier): string {
  const { retry_tolerance, step_limit_multiplier, verbosity_bias, critique_enabled } = state;
  const calls = read_only_calls === null ? "any number of calls" : plural(read_only_calls, "read-only call");
  const limits = `max_format_retries ${retry_tolerance}, step limits × ${step_limit_multiplier}`;
  return `${limits}, ${calls} a turn, answer length ${lengthText(verbosity_bias)}, critic ${critique_enabled ? "on" : "off"}`;
}

function whatChanged({ cause, before, after, proposal, frozen_runs }: GovernanceChange): string {
  const names = Object.keys(before) as (keyof typeof before)[];
  const moved = names.filter((name) => before[name] !== after[name]);
  const values = moved.map((name) => `${name} ${before[name]} → ${after[name]}`).join(", ");
  const frozen = frozen_runs > 0 ? `frozen for ${plural(frozen_runs, "run")}` : "";
  const what = cause === "kept" ? `kept ${proposal?.parameter ?? ""}` : values || "nothing";
  return [what, frozen].filter((text) => text !== "").join("; ");
}

function whyChanged({ cause, proposal, worse, by }: GovernanceChange): string {
  switch (cause) {
    case "mutation":
      return `trial: ${proposal?.signal ?? ""}`;
    case "kept":
      return `${proposal?.aim ?? ""} got better`;
    case "withdrawn":
      return `${proposal?.aim ?? ""} did not get better`;
    case "rollback":
      return `${worse ?? ""} got worse`;
    case "critique":
      return "answers ignored failed or cut results";
    case "operator":
      return `decided by ${by}`;
  }
}
