/** Every key of the config does something: for each the file that reads it, beside the schema and its defaults. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configSchema } from "../../../src/boot/config/config-schema.ts";

const MODELS = "boot/configured-models.ts";
const KNOWN = "boot/config/known-providers.ts";
const RESOLVE = "boot/config/resolve-configured-model-ref.ts";
const LIMITS = "boot/config/context-limits.ts";
const CHANNELS = "boot/configured-channels.ts";
const TOOLS = "boot/built-in-tools.ts";
const THREAD = "boot/shadow-thread.ts";
const SCOPES = "runtime/spend/budget-scopes.ts";
const DECIDE = "kernel/policy/decide-call.ts";
const HONEYPOT = "kernel/policy/honeypot.ts";

const READ_BY: Readonly<Record<string, string>> = {
  "models.default": RESOLVE,
  "models.providers.*.enabled": RESOLVE,
  "models.providers.*.kind": KNOWN,
  "models.providers.*.baseUrl": MODELS,
  "models.providers.*.apiKeyEnv": "boot/config/resolve-api-key.ts",
  "models.providers.*.local": RESOLVE,
  "models.providers.*.supportsToolChoice": KNOWN,
  "models.providers.*.startupValidation": MODELS,
  "models.providers.*.models.*.contextWindow": MODELS,
  "models.providers.*.models.*.maxOutputTokens": MODELS,
  "models.providers.*.models.*.supportsTools": MODELS,
  "models.providers.*.models.*.supportsStreaming": MODELS,
  "models.providers.*.models.*.supportsVision": MODELS,
  "models.providers.*.models.*.supportsToolChoice": KNOWN,
  "models.providers.*.models.*.profile": MODELS,
  "models.providers.*.models.*.tier": MODELS,
  "models.providers.*.models.*.thinkingLevel": MODELS,
  "models.providers.*.models.*.costPer1kInput": MODELS,
  "models.providers.*.models.*.costPer1kOutput": MODELS,
  "models.providers.*.models.*.free": MODELS,
  // Of kind llama_cpp.
  "models.providers.*.models.*.modelPath": RESOLVE,
  "models.providers.*.modelPath": RESOLVE,
  "models.providers.*.threads": MODELS,
  "models.providers.*.gpu": MODELS,
  "models.providers.*.idleS": MODELS,
  "models.providers.*.defaults.model": RESOLVE,
  "gateway.host": "boot/commands/start.ts",
  "gateway.port": "boot/commands/start.ts",
  "gateway.allowedHosts": "adapters/gateway/admission.ts",
  "gateway.tls.cert": "boot/exposure.ts",
  "gateway.tls.key": "boot/exposure.ts",
  "gateway.proxy.url": "adapters/gateway/admission.ts",
  "gateway.proxy.from": "adapters/gateway/create-gateway.ts",
  "gateway.allowedOrigins": "adapters/gateway/admission.ts",
  "gateway.queue.max": "boot/open-surety.ts",
  "gateway.queue.workers": "boot/open-surety.ts",
  "gateway.rateLimit.perMinute": "boot/open-surety.ts",
  "memory.maxItems": "assistant/memory/memories.ts",
  "memory.maxTokens": "assistant/memory/memories.ts",
  "memory.embeddingModel": "boot/configured-embedder.ts",
  "agents.*.prompt": "assistant/subagents/sub-agents.ts",
  "agents.*.purpose": "assistant/subagents/sub-agents.ts",
  "agents.*.outputSchema.*": "assistant/subagents/sub-agents.ts",
  "agents.*.model": MODELS,
  "agents.*.thinkingLevel": "boot/live-parts.ts",
  "agents.*.maxTurns": LIMITS,
  "agents.*.context.messageChars": "assistant/context/build-context.ts",
  "agents.*.context.summaryChars": "assistant/context/session-turn.ts",
  "agents.*.context.errorChars": "assistant/context/session-turn.ts",
  "agents.*.context.outputChars": "assistant/context/session-turn.ts",
  "agents.*.context.historyChars": "assistant/context/build-context.ts",
  "agents.*.context.agentFileChars": "assistant/context/session-context.ts",
  "agents.*.context.recentTokens": "assistant/context/build-context.ts",
  "agents.*.context.toolResultTokens": "assistant/context/build-context.ts",
  "agents.*.context.toolTokens": "assistant/runs/draft-run.ts",
  "agents.*.context.summaryTokens": "assistant/sessions/compaction.ts",
  "approvals.timeoutS": "boot/open-surety.ts",
  "scheduler.enabled": "boot/open-surety.ts",
  "scheduler.maxJobs": "boot/open-surety.ts",
  "scheduler.timeZone": "boot/open-surety.ts",
  "sessions.idleMs": "assistant/context/session-context.ts",
  "sessions.storePartials": "adapters/records/session-files.ts",
  "sessions.maxBytes": "adapters/records/session-files.ts",
  "identities.id": "boot/config/check-identities.ts",
  "identities.links": "assistant/sessions/inbound-message.ts",
  "output.thinking_mode": "boot/live-parts.ts",
  "channels.*.kind": "boot/administration/status.ts",
  "channels.*.secretEnv": CHANNELS,
  "channels.*.secretName": CHANNELS,
  "channels.*.url": CHANNELS,
  "channels.*.class": CHANNELS,
  "channels.*.activation": "boot/open-surety.ts",
  "channels.*.agent": CHANNELS,
  "channels.*.deduplicates": "adapters/channels/webhook/webhook-channel.ts",
  "channels.*.recipients.*": "adapters/channels/webhook/webhook-channel.ts",
  "budgets.perRunUsd": "assistant/runs/term-bounds.ts",
  "budgets.perDayUsd": SCOPES,
  "budgets.perAgentDayUsd": SCOPES,
  "budgets.perJobDayUsd": SCOPES,
  "budgets.perRunTokens": "assistant/runs/term-bounds.ts",
  "budgets.perDayTokens": SCOPES,
  "governance.enabled": "boot/open-governance.ts",
  "governance.warmupRuns": "assistant/governance/governance.ts",
  "governance.windowRuns": "assistant/governance/governance.ts",
  "governance.freezeRuns": "assistant/governance/governance.ts",
  "redaction.emails": "boot/configured-parts.ts",
  "redaction.phones": "boot/configured-parts.ts",
  "logging.maxBytes": "adapters/logs/rotating-file.ts",
  "logging.maxFiles": "adapters/logs/rotating-file.ts",
  "tools.workspace": "boot/built-in-tools.ts",
  "tools.policy.sideEffects": DECIDE,
  "tools.policy.allow": DECIDE,
  "tools.policy.channels.*": DECIDE,
  "tools.policy.risk.read_only": DECIDE,
  "tools.policy.risk.draft_only": DECIDE,
  "tools.policy.risk.side_effect": DECIDE,
  "tools.policy.exceptions.tool": DECIDE,
  "tools.policy.exceptions.channel": DECIDE,
  "tools.policy.exceptions.decision": DECIDE,
  "tools.policy.honeypot.templates": HONEYPOT,
  "tools.policy.honeypot.recipientTypes": HONEYPOT,
  "tools.policy.honeypot.perHour": "runtime/tools/honeypot-slot.ts",
  "tools.timeoutMs": TOOLS,
  "tools.maxTimeoutMs": TOOLS,
  "tools.shell.allow": TOOLS,
  "tools.http.allowDomains": "boot/config/to-tool-policy.ts",
  "tools.http.allowAddresses": TOOLS,
  "tools.http.ttlS": TOOLS,
  "tools.message.templates.*": TOOLS,
  "tools.search.url": TOOLS,
  "shadow.enabled": "boot/open-shadow.ts",
  "shadow.cooldown": "assistant/shadow/ghost-rules.ts",
  "shadow.maxGhostsPerHour": "assistant/shadow/ghost-rules.ts",
  "retention.maxAgeDays": "boot/open-retention.ts",
  "retention.maxBytes": "boot/open-retention.ts",
  "retention.minFreeBytes": "boot/home-size.ts",
  "retention.quotaBytes": "boot/home-size.ts",
  "shadow.watchers.filesystem.paths": THREAD,
  "shadow.watchers.filesystem.ignore": THREAD,
  "shadow.watchers.filesystem.events": THREAD,
  "shadow.watchers.shell.historyFile": THREAD,
  "shadow.watchers.shell.watchErrors": THREAD,
  "telemetry.otlp.intervalS": "adapters/telemetry/telemetry.ts",
  "telemetry.otlp.url": "adapters/telemetry/telemetry.ts",
  "telemetry.prometheus": "boot/open-telemetry.ts",
  "shadow.watchers.git.enabled": THREAD,
  "shadow.watchers.git.events": THREAD,
};

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

function leavesOf(schema: Schema, path: string): readonly string[] {
  const { properties, additionalProperties, items } = schema;
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`);
  if (properties !== undefined) return Object.entries(properties).flatMap(([key, inner]) => leavesOf(inner, at(key)));
  if (typeof additionalProperties === "object") return leavesOf(additionalProperties, at("*"));
  // A list of objects; a list of texts is one value.
  if (items?.properties !== undefined) return leavesOf(items, path);
  return [path];
}

test("every key of the schema is read somewhere", () => {
  expect(Object.keys(READ_BY).toSorted()).toEqual(leavesOf(configSchema() as Schema, "").toSorted());
  const unread = Object.entries(READ_BY).filter(([path, file]) => {
    const word = path
      .split(".")
      .filter((step) => step !== "*")
      .at(-1);
    const source = readFileSync(`src/${file}`, "utf8");
    // Risks are read by name, through a variable.
    return !new RegExp(`\\b(?:${word}|risk\\[)`).test(source);
  });
  expect(unread).toEqual([]);
});
