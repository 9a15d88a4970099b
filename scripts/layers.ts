/**
 * Which folder of `src/` may import which: the one table behind dependency-cruiser's rules and the layering test.
 *
 * L1. A layer imports itself and the layers listed for it, nothing else inside `src/`. Type imports count.
 * L2. Every source file belongs to exactly one layer; a new folder gets a row here before it gets a file.
 * L3. Adapters never import one another: what two of them share is a port of an inner ring.
 * L4. The kernel reaches Node and npm only through the packages named here, each confined to the files named.
 * L5. The control UI imports itself and the kernel; of the gateway it knows the types of the table of operations, no values.
 *     Nothing in `src/` imports it.
 */
const KERNEL = {
  vocabulary: "src/kernel/vocabulary",
  policy: "src/kernel/policy",
  contract: "src/kernel/contract",
  protocol: "src/kernel/protocol",
  redaction: "src/kernel/redaction",
  governance: "src/kernel/governance",
  schedule: "src/kernel/schedule",
  journal: "src/kernel/journal",
  machine: "src/kernel/machine",
} as const;

const DECISIONS = [KERNEL.policy, KERNEL.contract, KERNEL.protocol, KERNEL.redaction, KERNEL.governance];
const EVERY_KERNEL_LAYER = Object.values(KERNEL);

export const LAYERS: ReadonlyMap<string, readonly string[]> = new Map([
  [KERNEL.vocabulary, []],
  [KERNEL.policy, [KERNEL.vocabulary]],
  [KERNEL.contract, [KERNEL.vocabulary, KERNEL.policy]],
  [KERNEL.protocol, [KERNEL.vocabulary]],
  [KERNEL.redaction, [KERNEL.vocabulary]],
  [KERNEL.governance, [KERNEL.vocabulary]],
  [KERNEL.schedule, [KERNEL.vocabulary]],
  [KERNEL.journal, [KERNEL.vocabulary, ...DECISIONS]],
  [KERNEL.machine, [KERNEL.vocabulary, ...DECISIONS, KERNEL.journal]],
  ["src/runtime", EVERY_KERNEL_LAYER],
  ["src/prompts", [...EVERY_KERNEL_LAYER, "src/runtime"]],
  ["src/assistant", [...EVERY_KERNEL_LAYER, "src/runtime", "src/prompts"]],
  ["src/adapters", [...EVERY_KERNEL_LAYER, "src/runtime", "src/prompts", "src/assistant"]],
  ["src/boot", [...EVERY_KERNEL_LAYER, "src/runtime", "src/prompts", "src/assistant", "src/adapters"]],
]);

export const UI = { folder: "ui", imports: ["src/kernel/", "src/assistant/operations.ts"] } as const;

export const KERNEL_FOLDER = "src/kernel";
export const ADAPTERS_FOLDER = "src/adapters";

/** Packages the kernel may import: `null` from any of its files, otherwise from the one file named. */
export const KERNEL_PACKAGES: ReadonlyMap<string, string | null> = new Map([
  // Compiles to code, which no browser page with our content policy may run.
  ["typebox/compile", "src/kernel/vocabulary/schema-check-compiled.ts"],
  ["typebox", null],
  ["node:crypto", "src/kernel/vocabulary/sha256-node.ts"],
  ["@noble/hashes", "src/kernel/vocabulary/sha256-portable.ts"],
]);

/**
 * Packages that `src/` may import. The bundle holds them, so what is installed needs no package at all; hence all of
 * them are development dependencies.
 */
export const BUNDLED_PACKAGES: readonly string[] = [
  "typebox",
  "@noble/hashes",
  "undici",
  "eventsource-parser",
  "zod",
  "json5",
  "htmlparser2",
  "ipaddr.js",
  "ignore",
  "gpt-tokenizer",
  "ws",
  "pino",
  "chokidar",
  "yaml",
  "@babel/parser",
  "@opentelemetry/api",
  "@opentelemetry/sdk-trace-base",
  "@opentelemetry/sdk-metrics",
  "@opentelemetry/resources",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/exporter-metrics-otlp-http",
  "@opentelemetry/exporter-prometheus",
];

export function layerOf(file: string): string | undefined {
  return [...LAYERS.keys()].find((layer) => file.startsWith(`${layer}/`));
}

/** `src/adapters/channels/telegram/poll.ts` belongs to the adapter `src/adapters/channels`. */
export function adapterOf(file: string): string | undefined {
  return file.startsWith(`${ADAPTERS_FOLDER}/`) ? file.split("/").slice(0, 3).join("/") : undefined;
}
