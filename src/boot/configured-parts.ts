/**
 * What follows from a home's settings. Made as a whole, so that settings which cannot be used change nothing; replaced as a
 * whole while the gateway runs, and a run keeps those of its beginning.
 */
import { isDeepStrictEqual } from "node:util";
import { createToolbox, type RegistryToolbox } from "../adapters/tools/create-toolbox.ts";
import type { Tool } from "../adapters/tools/define-tool.ts";
import type { LimitsOf } from "../assistant/context/context-limits.ts";
import type { ConfiguredChannel } from "../assistant/delivery/delivery.ts";
import type { ModelChoices } from "../assistant/runs/choose-model.ts";
import { type Ceilings, ceilingsFor } from "../assistant/runs/term-bounds.ts";
import type { ToolPolicy } from "../kernel/policy/tool-policy.ts";
import type { Secret } from "../kernel/redaction/known-secrets.ts";
import { compileRedactor, type Redactor } from "../kernel/redaction/redact.ts";
import type { FindModel } from "../runtime/model/model-registry.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import type { SecretValues } from "../runtime/secrets/secrets.ts";
import { configuredBudgetScopes } from "../runtime/spend/budget-scopes.ts";
import type { BudgetScopes } from "../runtime/spend/spend-account.ts";
import { BootError } from "./boot-error.ts";
import { type BuiltInTools, toolTimeouts } from "./built-in-tools.ts";
import type { Config } from "./config/config.ts";
import { contextLimits } from "./config/context-limits.ts";
import { apiKeyName, resolveApiKey } from "./config/resolve-api-key.ts";
import { toToolPolicy } from "./config/to-tool-policy.ts";
import { type ChannelSurroundings, channelSecret, channelSecrets, configuredChannels } from "./configured-channels.ts";
import { modelChoices, openModelRegistry } from "./configured-models.ts";
import { secretsIn } from "./env-secrets.ts";
import type { Settings } from "./settings.ts";

export interface ConfiguredParts extends Settings {
  /** The values of the variables that providers and channels name. */
  readonly keys: readonly (string | undefined)[];
  readonly channels: readonly ConfiguredChannel[];
  readonly tools: readonly Tool[];
  readonly toolbox: RegistryToolbox;
  readonly findModel: FindModel;
  readonly choices: ModelChoices;
  readonly limitsOf: LimitsOf;
  readonly ceilings: Ceilings;
  readonly budgetScopes: BudgetScopes;
  readonly policy: ToolPolicy;
  readonly secrets: readonly Secret[];
  readonly redactor: Redactor;
  /** Leaves addresses and telephone numbers. */
  readonly secretsOnly: Redactor;
}

export interface PartsSurroundings extends Omit<ChannelSurroundings, "readVariable"> {
  readonly clock: Clock;
  /** For local models. */
  readonly homeDirectory: string;
  readonly token: string | null;
  /** As it is when a call runs. */
  readonly secretOf: (name: string) => string | undefined;
  readonly toolsFor: BuiltInTools["toolsFor"];
  readonly moreTools: readonly Tool[];
  readonly overModel: ((model: ConfiguredModel) => ConfiguredModel) | undefined;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

/** `before`: what did not change stays; and what was loaded earlier stays a secret, though the file has another by now. */
export function configuredParts(
  { config, readVariable }: Settings,
  surroundings: PartsSurroundings,
  before: ConfiguredParts | null,
): ConfiguredParts {
  const { clock, homeDirectory, token, toolsFor, moreTools, overModel, onDefect, secretOf } = surroundings;
  const keys = [
    ...Object.entries(config.models.providers).map(([id, provider]) => readVariable(apiKeyName(id, provider))),
    ...Object.values(config.channels).map((channel) => channelSecret(channel, readVariable, surroundings.stored())),
  ];
  /** Null unless these sections and all keys say the same. */
  const unchanged = (...sections: readonly (keyof Config)[]): ConfiguredParts | null =>
    before !== null &&
    isDeepStrictEqual(before.keys, keys) &&
    sections.every((section) => isDeepStrictEqual(before.config[section], config[section]))
      ? before
      : null;
  const channels = unchanged("channels")?.channels ?? configuredChannels(config, { ...surroundings, readVariable });
  const ownTools = (): readonly Tool[] =>
    toolsFor(
      config,
      channels.map(({ channel }) => channel),
    );
  const sameTools = unchanged("agents", "channels", "tools");
  const tools = sameTools?.tools ?? withMore(ownTools(), moreTools);
  const findModel =
    unchanged("models")?.findModel ??
    openModelRegistry(config, readVariable, { clock, homeDirectory, over: overModel });
  const policy = toToolPolicy(config);
  return {
    ...{ config, readVariable, keys, channels, tools, findModel },
    ...openRedactor({ config, readVariable }, token, surroundings.stored(), before?.secrets ?? []),
    toolbox:
      sameTools?.toolbox ??
      createToolbox(tools, {
        ...{ clock, secretOf, timeouts: toolTimeouts(config) },
        onDefect: (error) => onDefect("tool", error),
      }),
    choices: modelChoices(config, findModel),
    limitsOf: contextLimits(config),
    ceilings: ceilingsFor(config.budgets),
    budgetScopes: configuredBudgetScopes(config.budgets),
    policy: before !== null && isDeepStrictEqual(before.policy, policy) ? before.policy : policy,
  };
}

function withMore(builtIn: readonly Tool[], more: readonly Tool[]): readonly Tool[] {
  const names = new Set(more.map(({ name }) => name));
  return [...builtIn.filter(({ name }) => !names.has(name)), ...more];
}

/** Knows every secret this process has read: stored ones, provider keys, its own bearer token, and what else `.env` holds. */
function openRedactor(
  { config, readVariable }: Settings,
  token: string | null,
  stored: SecretValues,
  earlier: readonly Secret[],
) {
  const keys = Object.entries(config.models.providers).flatMap(([id, provider]) => {
    const verdict = resolveApiKey(id, provider, readVariable);
    return verdict.ok && verdict.key !== null ? [{ name: `${id}-key`, value: verdict.key }] : [];
  });
  const given = [...stored].map(([name, value]) => ({ name, value }));
  const own = [...given, ...[...keys, ...channelSecrets(config, readVariable)].filter(isNew(stored))];
  const ours = token === null ? own : [...own, { name: "gateway-token", value: token }];
  const values = new Set(ours.map(({ value }) => value));
  const others = secretsIn(readVariable.fileVariables ?? new Map()).filter(({ value }) => !values.has(value));
  for (const { value } of others) values.add(value);
  const former = earlier
    .filter(({ value }) => !values.has(value))
    .map(({ value }, index) => ({ name: `former-${index + 1}`, value }));
  return compileWith(config, ours, [...others, ...former]);
}

/** A value that a stored secret has, too, is known by that one's name. */
function isNew(stored: SecretValues): (secret: Secret) => boolean {
  const values = new Set(stored.values());
  return ({ value }) => !values.has(value);
}

/** A variable's name stands for its value in what is stored; one that cannot gives way to a number. */
function compileWith(
  config: Config,
  ours: readonly Secret[],
  others: readonly Secret[],
): Pick<ConfiguredParts, "secrets" | "redactor" | "secretsOnly"> {
  const secrets = [...ours, ...others];
  const { emails, phones } = config.redaction;
  const verdict = compileRedactor({ secrets, emails, phones });
  if (verdict.ok) {
    const { redactor } = verdict;
    const plain = emails || phones ? compileRedactor({ secrets, emails: false, phones: false }) : verdict;
    return { secrets, redactor, secretsOnly: plain.ok ? plain.redactor : redactor };
  }
  const { index, reason } = verdict;
  const number = `env-${index}`;
  const refused = secrets[index];
  const isAboutName = reason === "name-invalid" || reason === "name-repeated" || reason === "name-holds-secret";
  if (refused !== undefined && isAboutName && index >= ours.length && refused.name !== number) {
    return compileWith(config, ours, others.with(index - ours.length, { ...refused, name: number }));
  }
  throw new BootError(
    "secret.unusable",
    `${refused?.name ?? "a secret"} cannot be redacted (${reason})`,
    "A key or token must be longer than a common word and at most 8 kB.",
  );
}
