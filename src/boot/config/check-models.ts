/**
 * Do the model settings of a config fit together?
 *
 * C1. A reference names a declared provider and model, or the built-in model.
 * C2. Each kind of provider has what it needs: a base URL or a model file. Moonshot's key comes from MOONSHOT_API_KEY only
 *     (P-1.3), and it is never local (P-1.5). Plain http is for local servers only.
 * C3. Both prices are given or neither, and neither for a free model.
 */

import { isLoopback } from "../../runtime/access/is-loopback.ts";
import { AUTO } from "../../runtime/model/model-router.ts";
import { nearest } from "../nearest.ts";
import type { Config, ModelRef, ModelSettings, ProviderSettings } from "./config.ts";
import type { ConfigPath } from "./config-path.ts";
import type { Finding } from "./config-problem.ts";
import { BUILTIN_PROVIDER, BUILTIN_REF, MOONSHOT } from "./known-providers.ts";
import { splitModelRef } from "./resolve-configured-model-ref.ts";

export function checkModels({ models, agents }: Config): readonly Finding[] {
  const { providers } = models;
  return [
    ...Object.entries(providers).flatMap(([id, provider]) => checkProvider(id, provider)),
    ...checkRef(models.default, ["models", "default"], providers),
    ...Object.entries(agents).flatMap(([id, { model }]) =>
      model === AUTO ? [] : checkRef(model, ["agents", id, "model"], providers),
    ),
  ];
}

function checkProvider(id: string, provider: ProviderSettings): readonly Finding[] {
  const path = ["models", "providers", id];
  const { kind, baseUrl, apiKeyEnv, local, defaults, models } = provider;
  const findings: Finding[] = [];
  const refuse = (key: string, what: string, hint: string): void => {
    findings.push(invalid([...path, key], what, hint));
  };
  if ((id === BUILTIN_PROVIDER) !== (kind === "builtin")) {
    refuse(
      "kind",
      `must be builtin for the provider ${BUILTIN_PROVIDER}, and for no other`,
      "Give the provider another name.",
    );
  }
  if (id === MOONSHOT && kind !== "openai_compatible") refuse("kind", "must be openai_compatible", "Remove it.");
  if (id === MOONSHOT && apiKeyEnv !== undefined) {
    refuse("apiKeyEnv", "cannot be set for moonshot", "Its key is read from MOONSHOT_API_KEY.");
  }
  if (id === MOONSHOT && local) refuse("local", "cannot be true for moonshot", "Remove it: moonshot needs its key.");
  if (kind === "openai_compatible" && baseUrl === undefined) {
    refuse("baseUrl", "is missing", "Set the provider's address, such as http://127.0.0.1:8080/v1.");
  }
  if (!local && baseUrl !== undefined && isOpenWire(baseUrl)) {
    refuse(
      "baseUrl",
      "must be https: over http others could read the key and the messages",
      "Plain http is allowed only to this machine, or with local: true.",
    );
  }
  if (defaults.model !== undefined && !Object.hasOwn(models, defaults.model)) {
    findings.push(
      invalid(
        [...path, "defaults", "model"],
        "is not among the provider's models",
        didYouMean(defaults.model, Object.keys(models)),
      ),
    );
  }
  for (const key of kind === "llama_cpp" ? [] : LOCAL_KEYS) {
    if (provider[key] !== undefined) refuse(key, "is for providers of kind llama_cpp", "Remove it.");
  }
  for (const [name, model] of Object.entries(models)) {
    findings.push(...checkModel([...path, "models", name], model, provider));
  }
  return findings;
}

const LOCAL_KEYS = ["threads", "gpu", "idleS"] as const;

/** Unencrypted, and to another machine. */
function isOpenWire(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/g, ""));
}

function checkModel(path: ConfigPath, model: ModelSettings, { kind, modelPath }: ProviderSettings): readonly Finding[] {
  const { contextWindow, maxOutputTokens, costPer1kInput, costPer1kOutput, free } = model;
  const findings: Finding[] = [];
  if (maxOutputTokens >= contextWindow) {
    findings.push(
      invalid([...path, "maxOutputTokens"], "must be less than contextWindow", "Leave room for the prompt."),
    );
  }
  if ((costPer1kInput === undefined) !== (costPer1kOutput === undefined)) {
    findings.push(invalid(path, "has only one price", "Give costPer1kInput and costPer1kOutput, or neither."));
  }
  if (free && ((costPer1kInput ?? 0) > 0 || (costPer1kOutput ?? 0) > 0)) {
    findings.push(invalid([...path, "free"], "contradicts the model's prices", "Remove one or the other."));
  }
  if (kind === "llama_cpp" && model.profile === "native-tools") {
    findings.push(
      invalid([...path, "profile"], "must be grammar-json or marker-json here", "Remove it: grammar-json."),
    );
  }
  if (kind === "anthropic" && model.profile === "grammar-json") {
    findings.push(invalid([...path, "profile"], "cannot be grammar-json here", "Remove it: native-tools."));
  }
  if (kind === "llama_cpp" && model.modelPath === undefined && modelPath === undefined) {
    findings.push(invalid([...path, "modelPath"], "is missing", "Set it to the model's GGUF file."));
  }
  return findings;
}

function checkRef(
  ref: string | ModelRef | undefined,
  path: ConfigPath,
  providers: Readonly<Record<string, ProviderSettings>>,
): readonly Finding[] {
  if (ref === undefined) return [];
  const { provider, model } = splitModelRef(ref);
  if (`${provider}:${model}` === BUILTIN_REF) return [];
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (known === undefined) {
    const names = [...Object.keys(providers), BUILTIN_PROVIDER];
    return [invalid(path, "names a provider that is not configured", didYouMean(provider, names))];
  }
  if (Object.hasOwn(known.models, model)) return [];
  return [
    invalid(path, "names a model that its provider does not declare", didYouMean(model, Object.keys(known.models))),
  ];
}

function invalid(path: ConfigPath, what: string, hint: string): Finding {
  return { code: "config.invalid", path, what, hint };
}

function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  return `${meant === null ? "" : `Did you mean ${meant}? `}Configured: ${known.join(", ") || "none"}.`;
}
