/**
 * What `surety.json5` may hold (P-1.2).
 *
 * S1. Unknown keys are refused at every level. A key is here once something reads it (test/boot/config/every-key.test.ts).
 * S2. Every number has a range, so that an absurd value is refused here and not discovered at run time.
 * S3. Defaults are in `default-config.ts`, and what follows from a provider's id in `known-providers.ts`.
 *
 * `zod/mini`, because it is loaded at every start: bundled, it costs a quarter of `zod`.
 */
import { isIP } from "node:net";
import * as z from "zod/mini";
import { readUrl } from "../../adapters/tools/http/read-url.ts";
import { ToolFailure } from "../../adapters/tools/tool-failure.ts";
import { isOutputSchema } from "../../assistant/subagents/sub-agents.ts";
import { AGENT_ID_PATTERN } from "../../kernel/vocabulary/agent-id.ts";
import { MODEL_TIERS } from "../../kernel/vocabulary/model-tier.ts";
import { CHANNEL_CLASSES, RISK_CLASSES } from "../../kernel/vocabulary/risk.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import { GPUS, MODEL_PROFILES, PROVIDER_KINDS, THINKING_MODES } from "./config.ts";
import { DEFAULT_CONFIG as DEFAULT } from "./default-config.ts";
import type { WrittenConfig } from "./known-providers.ts";

const SECONDS_A_DAY = 86_400;
const MAX_DAYS = 366;

const integer = (least: number, most: number) => {
  const what = `must be a whole number from ${least} to ${most}`;
  return z.int(what).check(z.gte(least, what), z.lte(most, what));
};
const amount = (most: number) => z.number().check(z.gte(0), z.lte(most));
const flag = (otherwise: boolean) => z._default(z.boolean(), otherwise);
/** May be left out: each of its keys is optional or has a default. */
const section = <Shape extends z.core.$ZodShape>(shape: Shape) => z.prefault(z.strictObject(shape), {} as never);
const matching = (pattern: RegExp, what: string) => z.string().check(z.regex(pattern, what));
const texts = (otherwise: readonly string[]) => z._default(z.array(Text), [...otherwise]);

const Text = z.string().check(z.maxLength(4096));
const Prompt = z.string().check(z.maxLength(100_000));
const Purpose = z.string().check(z.maxLength(120));
const OutputSchema = z
  .record(z.string(), z.unknown())
  .check(z.refine(isOutputSchema, 'must be a JSON Schema with type: "object"'));
const FilePath = matching(/^[^\0\n\r]{1,4096}$/, "must be a path");
const ProviderId = matching(/^[a-z0-9][a-z0-9_-]{0,63}$/, "must consist of lower-case letters, digits, - and _");
const ModelId = matching(/^[^\s\p{Cc}]{1,200}$/u, "must not contain blanks");
const AgentId = matching(
  new RegExp(AGENT_ID_PATTERN),
  "must begin with a lower-case letter or digit and consist of those, - and _",
);
const RefInParts = z.strictObject({ provider: ProviderId, model: ModelId });
const ModelRef = z.union([
  matching(/^[a-z0-9][a-z0-9_-]{0,63}:[^\s\p{Cc}]{1,200}$/u, 'must have the form "provider:model"'),
  RefInParts,
]);
const AgentModel = z.union([
  matching(
    /^(?:auto|[a-z0-9][a-z0-9_-]{0,63}:[^\s\p{Cc}]{1,200})$/u,
    'must have the form "provider:model", or be auto',
  ),
  RefInParts,
]);
const VariableName = matching(/^[A-Z][A-Z0-9_]{0,63}$/, "must be the name of an environment variable");
const Host = matching(/^[A-Za-z0-9.:_-]{1,255}$/, "must be a host name or an address");
const Domain = matching(/^[a-z0-9._-]{1,253}$/, "must be a domain in lower case").check(
  z.refine((text) => hostOf(`http://${text}/`) === text, "must be a domain as it appears in a URL"),
);
const HostAndPort = matching(
  /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253}):[1-9][0-9]{0,4}$/,
  "must have the form host:port, such as 127.0.0.1:8080",
).check(
  z.refine((text) => hostOf(`http://${text}/`) !== null, "must be a host that a URL may hold, and a port up to 65535"),
);
const ToolPattern = matching(/^(?:\*|[^*\s]+(?:\.\*)?)$/, "must be a tool, a namespace such as fs.*, or *").check(
  z.maxLength(128),
);
const CommandName = matching(/^[^\s\p{Cc}]{1,255}$/u, "must be the name of one command, without arguments");
const BaseUrl = z.string().check(z.refine(isBaseUrl, "must be an http(s) URL without user, query or fragment"));
const SearchUrl = BaseUrl.check(z.refine((text) => hostOf(text) !== null, "must have a host that can be reached"));
const Address = z.string().check(z.refine((text) => isIP(text) !== 0, "must be an IP address"));
const SecureOrigin = z
  .string()
  .check(
    z.refine((text) => isOrigin(text) && text.startsWith("https://"), "must be such as https://surety.example.org"),
  );
const Origin = z.string().check(z.refine(isOrigin, "must be an origin such as https://example.org"));
const TimeZone = z
  .string()
  .check(z.maxLength(64), z.refine(isTimeZone, "must be the name of a time zone such as Europe/Berlin"));
const Verdict = z.enum(["allow", "approve", "deny"]);

const Model = z.strictObject({
  contextWindow: integer(256, 100_000_000),
  maxOutputTokens: integer(1, 10_000_000),
  supportsTools: flag(true),
  supportsStreaming: flag(true),
  supportsVision: flag(false),
  supportsToolChoice: z.optional(z.boolean()),
  profile: z.optional(z.enum(MODEL_PROFILES)),
  tier: z.optional(z.enum(MODEL_TIERS)),
  thinkingLevel: z.optional(z.enum(THINKING_LEVELS)),
  costPer1kInput: z.optional(amount(1000)),
  costPer1kOutput: z.optional(amount(1000)),
  free: flag(false),
  modelPath: z.optional(FilePath),
});

const Provider = z.strictObject({
  enabled: flag(true),
  kind: z.optional(z.enum(PROVIDER_KINDS)),
  baseUrl: z.optional(BaseUrl),
  apiKeyEnv: z.optional(VariableName),
  local: z.optional(z.boolean()),
  supportsToolChoice: z.optional(z.boolean()),
  startupValidation: z._default(z.enum(["strict", "warn", "off"]), "warn"),
  models: z._default(z.record(ModelId, Model), {}),
  defaults: section({ model: z.optional(ModelId) }),
  modelPath: z.optional(FilePath),
  threads: z.optional(integer(1, 1024)),
  gpu: z.optional(z.union([z.literal(false), z.enum(GPUS)])),
  idleS: z.optional(integer(1, SECONDS_A_DAY)),
});

const Models = section({
  default: z.optional(ModelRef),
  providers: z._default(z.record(ProviderId, Provider), {}),
});

const Gateway = section({
  host: z._default(Host, DEFAULT.gateway.host),
  port: z._default(integer(0, 65_535), DEFAULT.gateway.port),
  allowedHosts: z._default(z.array(Domain), []),
  allowedOrigins: z._default(z.array(Origin), []),
  tls: z.exactOptional(z.strictObject({ cert: FilePath, key: FilePath })),
  proxy: z.exactOptional(z.strictObject({ url: SecureOrigin, from: z.array(Address).check(z.minLength(1)) })),
  queue: section({
    max: z._default(integer(1, 1_000_000), DEFAULT.gateway.queue.max),
    workers: z._default(integer(1, 1024), DEFAULT.gateway.queue.workers),
  }),
  rateLimit: section({ perMinute: z._default(integer(1, 1_000_000), DEFAULT.gateway.rateLimit.perMinute) }),
});

const dollars = z.optional(amount(1_000_000));
const tokens = z.optional(integer(0, 1_000_000_000_000));
const Budgets = section({
  perRunUsd: dollars,
  perDayUsd: dollars,
  perAgentDayUsd: dollars,
  perJobDayUsd: dollars,
  perRunTokens: tokens,
  perDayTokens: tokens,
});

const { policy } = DEFAULT.tools;
const [READ_ONLY, DRAFT_ONLY, SIDE_EFFECT] = RISK_CLASSES;

export const PolicySchema = z.strictObject({
  sideEffects: z._default(z.enum(["enabled", "disabled"]), policy.sideEffects),
  allow: z._default(z.array(ToolPattern), [...policy.allow]),
  channels: z._default(z.partialRecord(z.enum(CHANNEL_CLASSES), z.array(ToolPattern)), { ...policy.channels }),
  risk: section({
    [READ_ONLY]: z._default(Verdict, policy.risk[READ_ONLY]),
    [DRAFT_ONLY]: z._default(Verdict, policy.risk[DRAFT_ONLY]),
    [SIDE_EFFECT]: z._default(Verdict, policy.risk[SIDE_EFFECT]),
  }),
  exceptions: z._default(
    z.array(
      z.strictObject({ tool: ToolPattern, channel: z.exactOptional(z.enum(CHANNEL_CLASSES)), decision: Verdict }),
    ),
    [...policy.exceptions],
  ),
  honeypot: section({
    templates: texts(policy.honeypot.templates),
    recipientTypes: texts(policy.honeypot.recipientTypes),
    perHour: z._default(integer(0, 10_000), policy.honeypot.perHour),
  }),
});

const TemplateId = matching(/^[a-z0-9][a-z0-9_.-]{0,63}$/, "must consist of lower-case letters, digits, ., - and _");

const Tools = section({
  workspace: z.optional(FilePath),
  policy: z.prefault(PolicySchema, {}),
  timeoutMs: z._default(integer(1, SECONDS_A_DAY * 1000), DEFAULT.tools.timeoutMs),
  maxTimeoutMs: z._default(integer(1, SECONDS_A_DAY * 1000), DEFAULT.tools.maxTimeoutMs),
  shell: section({ allow: z._default(z.array(CommandName), [...DEFAULT.tools.shell.allow]) }),
  http: section({
    allowDomains: z.optional(z.array(Domain)),
    allowAddresses: z._default(z.array(HostAndPort), []),
    ttlS: z._default(integer(0, SECONDS_A_DAY * MAX_DAYS), DEFAULT.tools.http.ttlS),
  }),
  message: section({
    templates: z._default(z.record(TemplateId, z.string().check(z.minLength(1), z.maxLength(65_536))), {}),
  }),
  search: section({ url: z.optional(SearchUrl) }),
});

const SenderId = matching(/^[^\p{Cc}]{1,512}$/u, "must be an id of 1 to 512 characters");
const Link = matching(
  /^[a-z][a-z0-9_-]{0,31}:[^\p{Cc}]{1,512}$/u,
  "must have the form channel:id, such as telegram:123",
);

/** How much of a conversation an agent's model is sent (O-6.1, T-3c); what is left out has the default. */
const ContextSettings = z.strictObject({
  messageChars: z.exactOptional(integer(100, 1_000_000)),
  summaryChars: z.exactOptional(integer(20, 1_000_000)),
  errorChars: z.exactOptional(integer(20, 1_000_000)),
  outputChars: z.exactOptional(integer(0, 1_000_000)),
  historyChars: z.exactOptional(integer(1000, 100_000_000)),
  agentFileChars: z.exactOptional(integer(0, 100_000)),
  recentTokens: z.exactOptional(integer(100, 10_000_000)),
  toolResultTokens: z.exactOptional(integer(0, 10_000_000)),
  toolTokens: z.exactOptional(integer(0, 10_000_000)),
  summaryTokens: z.exactOptional(integer(100, 1_000_000)),
});

const { watchers } = DEFAULT.shadow;
const events = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z._default(z.array(z.enum(names)), [...names] as never);
const Glob = matching(/^[^\0\n\r]{1,1024}$/, "must be a glob such as node_modules or **/*.min.js");

const Shadow = section({
  enabled: flag(DEFAULT.shadow.enabled),
  watchers: section({
    filesystem: section({
      paths: z._default(z.array(FilePath).check(z.maxLength(100)), [...watchers.filesystem.paths]),
      ignore: z._default(z.array(Glob).check(z.maxLength(1000)), [...watchers.filesystem.ignore]),
      events: events(["add", "change", "unlink"]),
    }),
    shell: section({
      historyFile: z._default(z.union([z.literal(""), FilePath]), watchers.shell.historyFile),
      watchErrors: flag(watchers.shell.watchErrors),
    }),
    git: section({
      enabled: flag(watchers.git.enabled),
      events: events(["commit", "push", "merge-conflict"]),
    }),
  }),
  cooldown: z._default(integer(0, SECONDS_A_DAY * 1000), DEFAULT.shadow.cooldown),
  maxGhostsPerHour: z._default(integer(0, 1000), DEFAULT.shadow.maxGhostsPerHour),
});

/** They are the person at this machine, or runs of it; no configured channel may pass for them. */
const OWN_CHANNELS = ["cli", "http", "run", "web", "webchat"];
const ChannelName = matching(
  /^[a-z][a-z0-9_-]{0,31}$/,
  "must begin with a letter and consist of lower-case letters, digits, - and _",
).check(z.refine((name) => !OWN_CHANNELS.includes(name), `must not be one of ${OWN_CHANNELS.join(", ")}`));
const Channel = z.strictObject({
  kind: z.literal("webhook"),
  secretEnv: z.exactOptional(VariableName),
  secretName: z.exactOptional(matching(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, "must be the name of a stored secret")),
  url: SearchUrl,
  class: z._default(z.enum(["external_message", "external_email"]), "external_message"),
  activation: z._default(z.enum(["mention", "always"]), "mention"),
  agent: z._default(AgentId, "main"),
  deduplicates: flag(false),
  recipients: z._default(z.record(SenderId, matching(/^[a-z][a-z0-9_-]{0,31}$/, "must be a word such as contact")), {}),
});

export const ConfigSchema: z.ZodMiniType<WrittenConfig> = z.strictObject({
  models: Models,
  gateway: Gateway,
  agents: z._default(
    z.record(
      AgentId,
      z.strictObject({
        prompt: z.optional(Prompt),
        purpose: z.exactOptional(Purpose),
        outputSchema: z.exactOptional(OutputSchema),
        model: z.optional(AgentModel),
        thinkingLevel: z.optional(z.enum(THINKING_LEVELS)),
        maxTurns: z.exactOptional(integer(1, 1000)),
        context: z.exactOptional(ContextSettings),
      }),
    ),
    {},
  ),
  approvals: section({ timeoutS: z._default(integer(1, SECONDS_A_DAY * 30), DEFAULT.approvals.timeoutS) }),
  sessions: section({
    idleMs: z._default(integer(1000, SECONDS_A_DAY * MAX_DAYS * 1000), DEFAULT.sessions.idleMs),
    storePartials: flag(DEFAULT.sessions.storePartials),
    maxBytes: z._default(integer(1024, 2 ** 40), DEFAULT.sessions.maxBytes),
  }),
  identities: z._default(z.array(z.strictObject({ id: SenderId, links: z.array(Link).check(z.minLength(1)) })), []),
  output: section({ thinking_mode: z._default(z.enum(THINKING_MODES), DEFAULT.output.thinking_mode) }),
  channels: z._default(z.record(ChannelName, Channel), {}),
  budgets: Budgets,
  governance: section({
    enabled: flag(DEFAULT.governance.enabled),
    warmupRuns: z.exactOptional(integer(1, 100_000)),
    windowRuns: z.exactOptional(integer(3, 1000)),
    freezeRuns: z.exactOptional(integer(0, 100_000)),
  }),
  memory: section({
    maxItems: z._default(integer(0, 50), DEFAULT.memory.maxItems),
    maxTokens: z._default(integer(50, 100_000), DEFAULT.memory.maxTokens),
    embeddingModel: z.optional(
      matching(/^[a-z0-9][a-z0-9_-]{0,63}:[^\s\p{Cc}]{1,200}$/u, 'must have the form "provider:model"'),
    ),
  }),
  redaction: section({ emails: flag(DEFAULT.redaction.emails), phones: flag(DEFAULT.redaction.phones) }),
  retention: section({
    maxAgeDays: z.exactOptional(integer(1, 36_500)),
    maxBytes: z.exactOptional(integer(1_000_000, 2 ** 50)),
    quotaBytes: z.exactOptional(integer(1, 2 ** 50)),
    minFreeBytes: z._default(integer(0, 2 ** 50), DEFAULT.retention.minFreeBytes),
  }),
  logging: section({
    maxBytes: z._default(integer(65_536, 2 ** 40), DEFAULT.logging.maxBytes),
    maxFiles: z._default(integer(1, 1000), DEFAULT.logging.maxFiles),
  }),
  telemetry: section({
    prometheus: flag(DEFAULT.telemetry.prometheus),
    otlp: z.exactOptional(z.strictObject({ url: BaseUrl, intervalS: z._default(integer(1, 3600), 60) })),
  }),
  shadow: Shadow,
  tools: Tools,
  scheduler: section({
    enabled: flag(DEFAULT.scheduler.enabled),
    maxJobs: z._default(integer(1, 1_000_000), DEFAULT.scheduler.maxJobs),
    timeZone: z.exactOptional(TimeZone),
  }),
});

function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }) !== null;
  } catch {
    return false;
  }
}

/** The JSON Schema of `surety.json5`, for editors. */
export function configSchema(): object {
  return z.toJSONSchema(ConfigSchema, { io: "input" });
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ["http:", "https:"].includes(url.protocol) && url.origin === text;
}

/** Uses the web tools' own reader, so that the config accepts what they accept. */
function hostOf(url: string): string | null {
  try {
    return readUrl(url).host;
  } catch (error) {
    if (error instanceof ToolFailure) return null;
    throw error;
  }
}
