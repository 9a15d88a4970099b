/**
 * The configuration with every default filled in and no secret in it (design: Config). `config-schema.ts` says what a file
 * may hold.
 */

import type { ContextLimits } from "../../assistant/context/context-limits.ts";
import type { GovernanceSettings } from "../../assistant/governance/governance.ts";
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { ModelTier } from "../../kernel/vocabulary/model-tier.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { Budgets } from "../../runtime/spend/budget-scopes.ts";

export const PROVIDER_KINDS = ["openai_compatible", "anthropic", "llama_cpp", "builtin"] as const;
export const MODEL_PROFILES = ["native-tools", "marker-json", "grammar-json"] as const;
export const GPUS = ["auto", "cuda", "vulkan", "metal"] as const;
export const THINKING_MODES = ["never", "on_error", "always"] as const;

export interface ModelSettings {
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly supportsTools: boolean;
  readonly supportsStreaming: boolean;
  readonly supportsVision: boolean;
  /** Can the model be forced to call a tool (`tool_choice: required`)? Absent: as its provider says. */
  readonly supportsToolChoice?: boolean | undefined;
  /** Absent: native-tools; of kind llama_cpp grammar-json. */
  readonly profile?: (typeof MODEL_PROFILES)[number] | undefined;
  readonly tier?: ModelTier | undefined;
  /** Its default thinking level. Only a model with one accepts levels. */
  readonly thinkingLevel?: ThinkingLevel | undefined;
  readonly costPer1kInput?: number | undefined;
  readonly costPer1kOutput?: number | undefined;
  /** Costs nothing. */
  readonly free: boolean;
  readonly modelPath?: string | undefined;
}

export interface ProviderSettings {
  readonly enabled: boolean;
  readonly kind: (typeof PROVIDER_KINDS)[number];
  readonly baseUrl?: string | undefined;
  /** The name of the variable that holds the key; absent: `<ID>_API_KEY`. */
  readonly apiKeyEnv?: string | undefined;
  /** Needs no key; a smaller context window is raised to MINIMUM_CONTEXT_TOKENS (P-1.5). */
  readonly local: boolean;
  /** Default for its models; absent: as known of the service. */
  readonly supportsToolChoice?: boolean | undefined;
  readonly startupValidation: "strict" | "warn" | "off";
  readonly models: Readonly<Record<string, ModelSettings>>;
  readonly defaults: { readonly model?: string | undefined };
  /** For models without one of their own. */
  readonly modelPath?: string | undefined;
  /** Of kind llama_cpp; absent: as many as llama.cpp finds useful. One thread gives the same answer to the same request. */
  readonly threads?: number | undefined;
  /** Of kind llama_cpp; absent: false. */
  readonly gpu?: (typeof GPUS)[number] | false | undefined;
  /** Of kind llama_cpp: without a request for so long, the model leaves memory. */
  readonly idleS?: number | undefined;
}

/** `provider:model` in parts (P-1.4). */
export interface ModelRef {
  readonly provider: string;
  readonly model: string;
}

export interface AgentSettings {
  readonly prompt?: string | undefined;
  /** In a few words, for the agents that may delegate to it. */
  readonly purpose?: string;
  /** JSON Schema of its answers as a sub-agent; absent: text. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** Or `auto`; absent: `models.default`. */
  readonly model?: string | ModelRef | undefined;
  /** Used when a request names none. */
  readonly thinkingLevel?: ThinkingLevel | undefined;
  /** Turns that a prompt holds as messages; earlier ones are condensed. */
  readonly maxTurns?: number;
  /** What the agent's model is sent of a conversation, where it differs from the default. */
  readonly context?: Partial<Omit<ContextLimits, "maxTurns">>;
}

/** `tools.policy`: ToolPolicy without its domains, which are in `tools.http`. */
export type PolicySettings = Omit<ToolPolicy, "allowDomains">;

/** A channel of the gateway: signed messages over HTTP, in and out. */
export interface ChannelSettings {
  readonly kind: "webhook";
  /** The name of the variable that holds the secret both sides sign with. */
  /** The variable that holds the secret, */
  readonly secretEnv?: string;
  /** or the stored secret's name. */
  readonly secretName?: string;
  /** Where answers are posted. */
  readonly url: string;
  readonly class: "external_message" | "external_email";
  /** In groups: answers when it is mentioned, or always (T-2.3). */
  readonly activation: "mention" | "always";
  readonly agent: string;
  /** The receiver drops a message whose webhook-id it has seen, so one that may have been sent is sent again. */
  readonly deduplicates: boolean;
  /** Whom the agent may write to beside accepted senders; the value is their type. */
  readonly recipients: Readonly<Record<string, string>>;
}

/** What of the past is kept. What is absent limits nothing. */
export interface RetentionSettings {
  /** A conversation without a message for so many days is forgotten. */
  readonly maxAgeDays?: number;
  /** Where the home takes more, the oldest conversations are forgotten. */
  readonly maxBytes?: number;
  /** Where the home takes more, the gateway says so, and does nothing. */
  readonly quotaBytes?: number;
  /** Where the disk has less left, the gateway says so. */
  readonly minFreeBytes: number;
}

export interface Config {
  readonly models: {
    /** Absent while no provider is configured: the built-in model. */
    readonly default?: string | ModelRef | undefined;
    readonly providers: Readonly<Record<string, ProviderSettings>>;
  };
  readonly gateway: {
    readonly host: string;
    readonly port: number;
    /** Names of this gateway beside those it knows. */
    readonly allowedHosts: readonly string[];
    /** Other sites whose pages may call. */
    readonly allowedOrigins: readonly string[];
    /** Files in PEM form. */
    readonly tls?: { readonly cert: string; readonly key: string };
    /** Where its callers reach it, and the addresses it dials from. */
    readonly proxy?: { readonly url: string; readonly from: readonly string[] };
    readonly queue: { readonly max: number; readonly workers: number };
    readonly rateLimit: { readonly perMinute: number };
  };
  readonly agents: Readonly<Record<string, AgentSettings>>;
  readonly approvals: { readonly timeoutS: number };
  readonly sessions: {
    readonly idleMs: number;
    /** Local sessions' files also get answers while they are written. */
    readonly storePartials: boolean;
    /** Of one file of a session; then a numbered segment begins. */
    readonly maxBytes: number;
  };
  /** The same person on several channels (T-2.3). */
  readonly identities: readonly { readonly id: string; readonly links: readonly string[] }[];
  readonly output: { readonly thinking_mode: (typeof THINKING_MODES)[number] };
  readonly channels: Readonly<Record<string, ChannelSettings>>;
  readonly budgets: Budgets;
  readonly governance: GovernanceSettings;
  readonly memory: {
    /** Memories that a prompt is given by itself; 0: none. */
    readonly maxItems: number;
    /** Of the block that holds them. */
    readonly maxTokens: number;
    /** `provider:model`; absent: memories are found by their words alone. */
    readonly embeddingModel?: string | undefined;
  };
  readonly redaction: { readonly emails: boolean; readonly phones: boolean };
  readonly retention: RetentionSettings;
  /** Of one log: the bytes of a file, and how many files are kept. */
  readonly logging: { readonly maxBytes: number; readonly maxFiles: number };
  /** For others to read; nothing of it is loaded while it is off. */
  readonly telemetry: {
    /** GET /metrics. */
    readonly prometheus: boolean;
    /** Absent: nothing is sent. */
    readonly otlp?: { readonly url: string; readonly intervalS: number };
  };
  /** The seed's ShadowConfig (T-5.1). */
  readonly shadow: {
    readonly enabled: boolean;
    readonly watchers: {
      readonly filesystem: {
        readonly paths: readonly string[];
        /** Globs, as in .gitignore. */
        readonly ignore: readonly string[];
        readonly events: readonly ("add" | "change" | "unlink")[];
      };
      readonly shell: {
        /** Plain history; empty: not watched. */
        readonly historyFile: string;
        /** Exit codes, as the shell hook reports them. */
        readonly watchErrors: boolean;
      };
      readonly git: { readonly enabled: boolean; readonly events: readonly ("commit" | "push" | "merge-conflict")[] };
    };
    /** Milliseconds between two ghosts. */
    readonly cooldown: number;
    readonly maxGhostsPerHour: number;
  };
  readonly scheduler: {
    /** False: jobs are kept, and none runs. */
    readonly enabled: boolean;
    readonly maxJobs: number;
    /** In which the assistant reads times of day; absent: the machine's. */
    readonly timeZone?: string;
  };
  readonly tools: {
    /** Absent: `workspace` in the home. */
    readonly workspace?: string | undefined;
    readonly policy: PolicySettings;
    /** For calls of a tool that has no time of its own (O-1.1). */
    readonly timeoutMs: number;
    /** No call gets more, whatever its tool or its arguments say. */
    readonly maxTimeoutMs: number;
    /** The commands that shell.exec accepts. */
    readonly shell: { readonly allow: readonly string[] };
    readonly http: {
      /** Absent: no global allowlist; empty: no domain at all. */
      readonly allowDomains?: readonly string[] | undefined;
      /** The operator's exceptions to the address policy, `host:port`. */
      readonly allowAddresses: readonly string[];
      readonly ttlS: number;
    };
    /** Texts that message.send sends verbatim, by id. */
    readonly message: { readonly templates: Readonly<Record<string, string>> };
    /** A SearXNG instance for web.search; absent: no such tool. */
    readonly search: { readonly url?: string | undefined };
  };
}
