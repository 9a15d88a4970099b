/** The configured models as they are listed and checked. Only the name of a key's variable is ever shown. */
import { conformanceResult, type StoredReport } from "../../assistant/conformance/conformance-report.ts";
import type { ModelAdministration, ModelCheck, ModelList, ModelRow } from "../../assistant/models/operations.ts";
import { type FindModel, validateModel } from "../../runtime/model/model-registry.ts";
import { type Result, refuse } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ModelSettings } from "../config/config.ts";
import { apiKeyName } from "../config/resolve-api-key.ts";
import { configuredRefs, resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import { profileOf } from "../configured-models.ts";
import { readReports } from "../conformance-files.ts";
import type { Home } from "../home.ts";
import type { Settings } from "../settings.ts";
import { missingVariables } from "./configuration.ts";

export interface ModelParts {
  readonly home: Home;
  readonly clock: Pick<Clock, "wake" | "monotonicMs">;
  readonly settings: () => Settings;
  readonly findModel: FindModel;
}

export function openModelAdministration({ home, clock, settings, findModel }: ModelParts): ModelAdministration {
  return {
    list: async () => listModels(settings(), findModel, await readReports(home)),
    check: (model, signal) => checkModel({ settings: settings(), findModel, clock }, model, signal),
  };
}

export function listModels(
  settings: Settings,
  findModel: FindModel,
  conformance: ReadonlyMap<string, StoredReport>,
): ModelList {
  const { config, readVariable } = settings;
  const standard = resolveConfiguredModelRef(config, null);
  const missing = missingVariables(config, readVariable);
  const providers = Object.entries(config.models.providers).map(([id, provider]) => {
    const variable = apiKeyName(id, provider);
    const lacking = missing.find((each) => each.variable === variable);
    const { kind, enabled, local, baseUrl } = provider;
    return {
      ...{ id, kind, enabled, local, base_url: baseUrl ?? null },
      ...{ key_variable: variable, key_present: readVariable(variable) !== undefined },
      missing: lacking === undefined ? null : { line: lacking.line, file: lacking.file },
    };
  });
  return {
    default: standard.ok ? standard.resolved.ref : null,
    default_problem: standard.ok ? null : standard.message,
    providers,
    models: configuredRefs(config).flatMap((ref) => describeModel(settings, findModel, ref, conformance) ?? []),
  };
}

function describeModel(
  { config }: Settings,
  findModel: FindModel,
  ref: string,
  conformance: ReadonlyMap<string, StoredReport>,
): ModelRow | null {
  const verdict = resolveConfiguredModelRef(config, ref);
  if (!verdict.ok) return null;
  const standard = resolveConfiguredModelRef(config, null);
  const { provider, providerId, model } = verdict.resolved;
  const choice = findModel(ref);
  const result = conformance.get(ref);
  return {
    model: ref,
    provider: providerId,
    default: standard.ok && standard.resolved.ref === ref,
    kind: provider.kind,
    profile: profileOf(provider, model),
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    supports_tools: model.supportsTools,
    supports_streaming: model.supportsStreaming,
    supports_vision: model.supportsVision,
    holds_required: choice.ok ? choice.model.profile.holdsRequired : null,
    tier: model.tier ?? null,
    ...pricesOf(model),
    conformance: result === undefined ? null : conformanceResult(result),
    problem: choice.ok ? null : choice.message,
  };
}

function pricesOf({ costPer1kInput, costPer1kOutput, free }: ModelSettings) {
  return { cost_per_1k_input: costPer1kInput ?? null, cost_per_1k_output: costPer1kOutput ?? null, free };
}

/** Refused when there is no such model; one that does not answer is an answer. */
export async function checkModel(
  { settings, findModel, clock }: Pick<ModelParts, "findModel" | "clock"> & { readonly settings: Settings },
  model: string | null,
  signal?: AbortSignal,
): Promise<Result<ModelCheck>> {
  const verdict = resolveConfiguredModelRef(settings.config, model);
  if (!verdict.ok) return refuse("not_found", verdict.message);
  const { ref } = verdict.resolved;
  const startedMs = clock.monotonicMs();
  const { ok, detail } = await validateModel(findModel, ref, clock, signal);
  return { ok: true, value: { model: ref, ok, detail, latency_ms: Math.round(clock.monotonicMs() - startedMs) } };
}
