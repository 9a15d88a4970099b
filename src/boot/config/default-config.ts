/** The config's defaults, readable without loading the validator. A test parses them back as a file. */
import { DEFAULT_POLICY } from "../../kernel/contract/default-terms.ts";
import { DEFAULT_TOOL_TIMEOUT_MS, MAX_TOOL_TIMEOUT_MS } from "../../kernel/vocabulary/tool-envelope.ts";
import type { Config, PolicySettings } from "./config.ts";

/** Commands that read and whose options are known (`command-rules.ts`). */
export const DEFAULT_SHELL_ALLOW: readonly string[] = (
  "basename cat cmp comm cut date diff dirname du echo file find git grep head jq ls md5sum nl pwd readlink realpath rg " +
  "sed sha256sum sort stat tac tail tr tree uniq wc"
).split(" ");

const { allowDomains: _, ...kernelPolicy } = DEFAULT_POLICY;

/** One by one, so that a tool that is added later is denied until the operator lists it. */
const BUILT_IN_TOOLS: readonly string[] = (
  "agent.delegate fs.delete fs.edit fs.list_dir fs.read_text fs.search fs.stat fs.write_text http.get memory.remember " +
  "memory.search message.draft message.send " +
  "schedule.add schedule.list schedule.remove shell.exec web.search"
).split(" ");

/**
 * The kernel's for the built-in tools, plus reading the workspace for external channels: no commands, pages or changes. Who
 * sits at this machine and says "remember …" is not asked whether that is meant, until untrusted text was read.
 */
const DEFAULT_POLICY_SETTINGS: PolicySettings = {
  ...kernelPolicy,
  allow: [...BUILT_IN_TOOLS],
  exceptions: [...kernelPolicy.exceptions, { tool: "memory.remember", channel: "cli_local", decision: "allow" }],
  channels: {
    ...kernelPolicy.channels,
    external_message: ["fs.list_dir", "fs.read_text", "fs.search", "fs.stat"],
    external_email: ["fs.read_text"],
  },
};

export const DEFAULT_CONFIG: Config = {
  models: { providers: {} },
  gateway: {
    host: "127.0.0.1",
    port: 19789,
    allowedHosts: [],
    allowedOrigins: [],
    queue: { max: 1000, workers: 64 },
    rateLimit: { perMinute: 20 },
  },
  agents: {},
  approvals: { timeoutS: 600 },
  sessions: { idleMs: 1_800_000, storePartials: false, maxBytes: 10_485_760 },
  identities: [],
  output: { thinking_mode: "on_error" },
  channels: {},
  budgets: {},
  governance: { enabled: false },
  memory: { maxItems: 5, maxTokens: 600 },
  redaction: { emails: false, phones: false },
  retention: { minFreeBytes: 1_073_741_824 },
  logging: { maxBytes: 5_242_880, maxFiles: 5 },
  telemetry: { prometheus: false },
  shadow: {
    enabled: false,
    watchers: {
      filesystem: {
        paths: ["workspace"],
        ignore: ["node_modules", "dist", "build", "target", "coverage", ".venv", "venv", "__pycache__", "vendor"],
        events: ["add", "change", "unlink"],
      },
      shell: { historyFile: "", watchErrors: true },
      git: { enabled: true, events: ["commit", "push", "merge-conflict"] },
    },
    cooldown: 30_000,
    maxGhostsPerHour: 10,
  },
  tools: {
    policy: DEFAULT_POLICY_SETTINGS,
    timeoutMs: DEFAULT_TOOL_TIMEOUT_MS,
    maxTimeoutMs: MAX_TOOL_TIMEOUT_MS,
    shell: { allow: DEFAULT_SHELL_ALLOW },
    http: { allowAddresses: [], ttlS: 3600 },
    message: { templates: {} },
    search: {},
  },
  scheduler: { enabled: true, maxJobs: 10_000 },
};
