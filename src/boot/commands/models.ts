/**
 * `surety models ls|check`: the configured models, and whether one can be asked.
 *
 * Y1. `ls` contacts no provider; `check` asks a provider for its list of models, never for a completion.
 * Y2. Only the name of a key's variable is ever printed.
 */
import type { ModelRow } from "../../assistant/models/operations.ts";
import { checkModel, listModels } from "../administration/models.ts";
import { BootError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { loadConfig } from "../config/load-config.ts";
import { type ModelSurroundings, openModelRegistry } from "../configured-models.ts";
import { readReports } from "../conformance-files.ts";
import { withEnvFile } from "../environment.ts";
import type { Settings } from "../settings.ts";
import { systemClock } from "../system-clock.ts";

const ls: Action = {
  summary: "list the configured models: profile, context, prices, conformance",
  examples: ["surety models ls", "surety models ls --json"],
  async run(context) {
    const { output, home } = context;
    const settings = await settingsOf(context);
    const findModel = openModelRegistry(settings.config, settings.readVariable, surroundingsOf(context));
    const { models: rows } = listModels(settings, findModel, await readReports(home));
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

function surroundingsOf({ home }: Pick<CommandContext, "home">): ModelSurroundings {
  return { clock: systemClock, homeDirectory: home.directory };
}

async function settingsOf({ home, readVariable }: Pick<CommandContext, "home" | "readVariable">): Promise<Settings> {
  const config = await loadConfig(home.configFile);
  return { config, readVariable: await withEnvFile(readVariable, home.envFile) };
}

function printPrice({
  cost_per_1k_input: input,
  cost_per_1k_output: answer,
  free,
}: Pick<ModelRow, "cost_per_1k_input" | "cost_per_1k_output" | "free">): string {
  if (input !== null && answer !== null) return `${input} in, ${answer} out`;
  return free ? "free" : "unknown";
}

function printConformance(result: ModelRow["conformance"]): string {
  if (result === null) return "not run";
  const { passed, failed, at } = result;
  return `${passed} of ${passed + failed} passed, ${at.slice(0, 10)}`;
}

async function performCheck({ arguments: [asked], output, ...context }: CommandContext): Promise<void> {
  const settings = await settingsOf(context);
  const findModel = openModelRegistry(settings.config, settings.readVariable, surroundingsOf(context));
  const checked = await checkModel({ settings, findModel, clock: systemClock }, asked ?? null);
  if (!checked.ok) throw new BootError("model.unusable", checked.message, "");
  const { model, ok, detail } = checked.value;
  if (!ok) throw new BootError("model.unusable", detail, "");
  output.result({ models: [{ model, ok, problem: null, detail }] }, () => output.line(`ok ${model}: ${detail}`));
}
