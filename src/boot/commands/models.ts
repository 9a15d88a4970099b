/**
 * `surety models ls|check`: the configured models, and whether one can be asked.
 *
 * Y1. `ls` contacts no provider; `check` asks a provider for its list of models, never for a completion.
 * Y2. Only the name of a key's variable is ever printed.
 */
import type { ConformanceResult } from "../../assistant/conformance/conformance-report.ts";
import { validateModel } from "../../runtime/model/model-registry.ts";
import { BootError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import type { ModelSettings } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import { configuredRefs, resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import { openModelRegistry } from "../configured-models.ts";
import { readReports } from "../conformance-files.ts";
import { withEnvFile } from "../environment.ts";
import type { Settings } from "../settings.ts";
import { systemClock } from "../system-clock.ts";

const ls: Action = {
  summary: "list the configured models: profile, context, prices, conformance",
  examples: ["surety models ls", "surety models ls --json"],
  async run(context) {
    const { output, home } = context;
    const rows = describeModels(await settingsOf(context), await readReports(home));
    output.result({ models: rows }, () =>
      output.table(
        ["MODEL", "PROFILE", "CONTEXT", "OUTPUT", "USD PER 1K", "CONFORMANCE", ""],
        rows.map((row) => [
          row.default ? `${row.model} (default)` : row.model,
          row.profile,
          String(row.context_window),
          String(row.max_output_tokens),
          printPrice(row),
          printConformance(row.conformance),
          row.problem ?? "",
        ]),
      ),
    );
  },
};

const check: Action = {
  summary: "check that the provider answers, accepts the key and knows the model (default: the default model)",
  arguments: ["[REF]"],
  examples: ["surety models check", "surety models check moonshot:kimi-k1-128k"],
  run: performCheck,
};

export const command: Command = { actions: { ls, check } };

async function settingsOf({ home, readVariable }: Pick<CommandContext, "home" | "readVariable">): Promise<Settings> {
  const config = await loadConfig(home.configFile);
  return { config, readVariable: await withEnvFile(readVariable, home.envFile) };
}

function describeModels({ config, readVariable }: Settings, conformance: ReadonlyMap<string, ConformanceResult>) {
  const chooseModel = openModelRegistry(config, readVariable, systemClock);
  const standard = resolveConfiguredModelRef(config, null);
  return configuredRefs(config).flatMap((ref) => {
    const verdict = resolveConfiguredModelRef(config, ref);
    if (!verdict.ok) return [];
    const { provider, model } = verdict.resolved;
    const choice = chooseModel(ref);
    return {
      model: ref,
      default: standard.ok && standard.resolved.ref === ref,
      kind: provider.kind,
      profile: model.profile ?? "native-tools",
      context_window: model.contextWindow,
      max_output_tokens: model.maxOutputTokens,
      supports_tools: model.supportsTools,
      supports_streaming: model.supportsStreaming,
      supports_vision: model.supportsVision,
      /** Can it be forced to call a tool? Null while it cannot be used. */
      holds_required: choice.ok ? choice.model.profile.holdsRequired : null,
      tier: model.tier ?? null,
      ...pricesOf(model),
      conformance: conformance.get(ref) ?? null,
      problem: choice.ok ? null : choice.message,
    };
  });
}

function pricesOf({ costPer1kInput, costPer1kOutput, free }: ModelSettings) {
  return { cost_per_1k_input: costPer1kInput ?? null, cost_per_1k_output: costPer1kOutput ?? null, free };
}

function printPrice({
  cost_per_1k_input: input,
  cost_per_1k_output: answer,
  free,
}: ReturnType<typeof pricesOf>): string {
  if (input !== null && answer !== null) return `${input} in, ${answer} out`;
  return free ? "free" : "unknown";
}

function printConformance(result: ConformanceResult | null): string {
  if (result === null) return "not run";
  const { passed, failed, at } = result;
  return `${passed} of ${passed + failed} passed, ${at.slice(0, 10)}`;
}

async function performCheck({ arguments: [asked], output, ...context }: CommandContext): Promise<void> {
  const { config, readVariable } = await settingsOf(context);
  const verdict = resolveConfiguredModelRef(config, asked ?? null);
  if (!verdict.ok) throw new BootError("model.unusable", verdict.message, "");
  const { ref } = verdict.resolved;
  const { ok, detail } = await validateModel(openModelRegistry(config, readVariable, systemClock), ref, systemClock);
  if (!ok) throw new BootError("model.unusable", detail, "");
  output.result({ models: [{ model: ref, ok, problem: null, detail }] }, () => output.line(`ok ${ref}: ${detail}`));
}
