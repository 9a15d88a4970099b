/** What governance calls things, in words. */
import type { AnswerOf } from "../../data/client.ts";

type Tier = AnswerOf<"governance.show">["tiers"][number];
type Change = AnswerOf<"governance.history">["changes"][number];
type Parameter = keyof Tier["state"];

export const PARAMETERS: readonly { readonly name: Parameter; readonly title: string }[] = [
  { name: "retry_tolerance", title: "Retry tolerance" },
  { name: "step_limit_multiplier", title: "Step limits" },
  { name: "autonomy_bias", title: "Autonomy" },
  { name: "verbosity_bias", title: "Verbosity" },
  { name: "critique_enabled", title: "Critic" },
];

const EFFECTS: Readonly<Record<Parameter, string>> = {
  retry_tolerance: "how often a malformed answer is asked for again (max_format_retries)",
  step_limit_multiplier: "scales max_inferences and the timeouts",
  autonomy_bias: "how many read-only calls one turn may make",
  verbosity_bias: "scales how long an answer may be (max_output_tokens)",
  critique_enabled: "the draft of an answer is reviewed before you see it",
};

export function effectOf(name: Parameter): string {
  return EFFECTS[name];
}

export function valueWords(name: Parameter, { state, read_only_calls }: Tier): string {
  switch (name) {
    case "autonomy_bias":
      return `${state.autonomy_bias}: ${read_only_calls === null ? "any number" : read_only_calls}`;
    case "verbosity_bias":
      return `${state.verbosity_bias}: × ${Number((1.5 ** state.verbosity_bias).toFixed(2))}`;
    case "critique_enabled":
      return state.critique_enabled ? "on" : "off";
    case "step_limit_multiplier":
      return `× ${state.step_limit_multiplier}`;
    default:
      return String(state[name]);
  }
}

const SIGNALS: Readonly<Record<string, string>> = {
  "answer-cut-off": "answers were cut off at their limit",
  malformed: "answers were malformed",
  "retried-in-vain": "asking again did not help",
  "malformed-without-retry": "malformed answers ended runs",
  "ran-out-of-inferences": "runs ran out of inferences",
  "ran-out-of-time": "runs ran out of time",
  "ran-out-of-tokens": "runs ran out of tokens",
  "repeated-itself": "runs repeated themselves",
  "duplicate-calls": "calls were made twice",
  wasteful: "runs used up most of their budget",
  "anomaly-ignored": "answers ignored failed or cut results",
};

export function signalWords(signal: string): string {
  return SIGNALS[signal] ?? signal;
}

/** At the beginning of a sentence. */
function dimensionWords(dimension: string): string {
  return dimension.charAt(0).toUpperCase() + dimension.slice(1).replaceAll("_", " ");
}

export function whatChanged({ cause, before, after, proposal }: Change): string {
  const moved = PARAMETERS.filter(({ name }) => before[name] !== after[name]);
  const values = moved.map(({ name, title }) => `${title} ${before[name]} → ${after[name]}`).join(", ");
  if (cause === "kept") return `Kept: ${titleOf(proposal?.parameter)}`;
  return values === "" ? "Nothing was moved" : values;
}

export function whyChanged({ cause, proposal, worse, by, frozen_runs }: Change): string {
  const frozen = frozen_runs > 0 ? ` Frozen for ${frozen_runs} runs.` : "";
  switch (cause) {
    case "mutation":
      return `On trial, because ${signalWords(proposal?.signal ?? "")}.`;
    case "kept":
      return `${dimensionWords(proposal?.aim ?? "")} got better.`;
    case "withdrawn":
      return `${dimensionWords(proposal?.aim ?? "")} did not get better.${frozen}`;
    case "rollback":
      return `${dimensionWords(worse ?? "")} got worse.${frozen}`;
    case "critique":
      return "Counted over the last runs: how many answers ignored a failed or cut result.";
    case "operator":
      return `Decided by ${by}.${frozen}`;
  }
}

function titleOf(parameter: string | undefined): string {
  return PARAMETERS.find(({ name }) => name === parameter)?.title ?? "";
}
