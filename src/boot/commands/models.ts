/**
 * `surety models ls|check|add`: the configured models, and whether one can be asked.
 *
 * Y1. `ls` contacts no provider; `check` asks a provider for its list of models, never for a completion.
 * Y2. `add` reads the head of a model file, and writes what it says into the config. It installs nothing.
 * Y3. Only the name of a key's variable is ever printed.
 */
import { basename, extname, resolve } from "node:path";
import type { GgufHeader } from "../../adapters/models/llama-cpp/gguf-header.ts";
import type { ModelRow } from "../../assistant/models/operations.ts";
import { checkModel, listModels } from "../administration/models.ts";
import { BootError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { changeConfig } from "../config/change-config.ts";
import { loadConfig } from "../config/load-config.ts";
import { MINIMUM_CONTEXT_TOKENS } from "../config/resolve-configured-model-ref.ts";
import { type ModelSurroundings, openModelRegistry } from "../configured-models.ts";
import { readReports } from "../conformance-files.ts";
import { withEnvFile } from "../environment.ts";
import { expandTilde, packagesIn } from "../home.ts";
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

const add: Action = {
  summary: "configure a model file (GGUF), to be used in this process",
  arguments: ["PATH"],
  options: { name: { type: "string", value: "NAME", summary: "call it local:NAME instead of by its file" } },
  examples: ["surety models add ~/models/qwen3-4b-q4.gguf", "surety models add model.gguf --name small"],
  run: performAdd,
};

export const command: Command = { actions: { ls, check, add } };

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

const LOCAL_PROVIDER = "local";
const MOST_OUTPUT_TOKENS = 8_192;

async function performAdd({ arguments: [given = ""], options, home, output }: CommandContext): Promise<void> {
  const path = resolve(expandTilde(given));
  const { contextLength, architecture } = await headOf(path);
  const name = options.text("name") ?? basename(path, extname(path)).replaceAll(/\s+/g, "-");
  const config = await loadConfig(home.configFile);
  const provider = config.models.providers[LOCAL_PROVIDER];
  if (provider !== undefined && provider.kind !== "llama_cpp") {
    const message = `the provider ${LOCAL_PROVIDER} is of kind ${provider.kind}`;
    throw new BootError("config.invalid", message, "Give that provider another name in the config first.");
  }
  const contextWindow = contextLength ?? MINIMUM_CONTEXT_TOKENS;
  const maxOutputTokens = Math.min(MOST_OUTPUT_TOKENS, Math.floor(contextWindow / 4));
  const settings = { contextWindow, maxOutputTokens, free: true, modelPath: path };
  await changeConfig(home, async (text) => {
    const { editConfig } = await import("../config/edit-config.ts");
    const at = ["models", "providers", LOCAL_PROVIDER];
    const edits = [
      [[...at, "kind"], "llama_cpp"],
      [[...at, "models", name], settings],
    ] as const;
    return edits.reduce((before, [place, value]) => editConfig(before, place, value) ?? before, text);
  });
  const ref = `${LOCAL_PROVIDER}:${name}`;
  const install = await missingPackage(packagesIn(home.directory));
  output.result({ model: ref, ...settings, architecture, install }, () => {
    output.line(`${ref} is configured: ${architecture}, ${contextWindow} tokens of context.`);
    if (install !== null) output.line(`Local models need one package more. Run: ${install}`);
  });
}

async function headOf(path: string): Promise<GgufHeader> {
  const [{ readGgufHeader }, { LocalModelError }] = await Promise.all([
    import("../../adapters/models/llama-cpp/gguf-header.ts"),
    import("../../adapters/models/llama-cpp/local-model-error.ts"),
  ]);
  return await readGgufHeader(path).catch((error: unknown) => {
    throw error instanceof LocalModelError ? new BootError(error.code, error.message, "") : error;
  });
}

/** The line that installs it; null when it is there. */
async function missingPackage(directory: string): Promise<string | null> {
  const { findPackage, installLine } = await import("../../adapters/models/llama-cpp/llama-package.ts");
  return await findPackage(directory).then(
    () => null,
    () => installLine(directory),
  );
}
