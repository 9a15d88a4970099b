/** Every command, in the order of the help. A command's file is loaded only when it is called. */
import type { Command } from "./command.ts";

export interface CatalogueRow {
  readonly name: string;
  readonly section: string;
  readonly summary: string;
  load(): Promise<Command>;
}

export const COMMAND_CATALOGUE: readonly CatalogueRow[] = [
  {
    name: "start",
    section: "Gateway",
    summary: "run the gateway on this home",
    load: async () => (await import("./commands/start.ts")).start,
  },
  {
    name: "run",
    section: "Work",
    summary: "let the assistant work on one message",
    load: async () => (await import("./commands/run.ts")).run,
  },
  {
    name: "runs",
    section: "Work",
    summary: "list, show, cancel and export runs",
    load: async () => (await import("./commands/runs.ts")).runs,
  },
  {
    name: "approvals",
    section: "Work",
    summary: "list and answer questions that wait for you",
    load: async () => (await import("./commands/approvals.ts")).approvals,
  },
  {
    name: "caps",
    section: "Work",
    summary: "see, grant and revoke what a session may reach",
    load: async () => (await import("./commands/caps.ts")).caps,
  },
  {
    name: "tools",
    section: "Work",
    summary: "see the tools, or call one yourself",
    load: async () => (await import("./commands/tools.ts")).tools,
  },
  {
    name: "trash",
    section: "Work",
    summary: "list, restore or purge deleted files",
    load: async () => (await import("./commands/trash.ts")).trash,
  },
  {
    name: "policy",
    section: "Work",
    summary: "see what the agent may do, and why a call would be allowed, asked about or denied",
    load: async () => (await import("./commands/policy.ts")).policy,
  },
  {
    name: "budget",
    section: "Work",
    summary: "see what was spent, on what, and what is left",
    load: async () => (await import("./commands/budget.ts")).budget,
  },
  {
    name: "models",
    section: "Work",
    summary: "list the models, and check that one answers",
    load: async () => (await import("./commands/models.ts")).models,
  },
  {
    name: "verify",
    section: "Proof",
    summary: "verify a bundle, a run or the whole home",
    load: async () => (await import("./commands/verify.ts")).verify,
  },
  {
    name: "replay",
    section: "Proof",
    summary: "replay a recorded run, or try another policy on it",
    load: async () => (await import("./commands/replay.ts")).replay,
  },
  {
    name: "conformance",
    section: "Proof",
    summary: "test how a model behaves under contract",
    load: async () => (await import("./commands/conformance.ts")).conformance,
  },
  {
    name: "config",
    section: "Setup",
    summary: "read and change the configuration",
    load: async () => (await import("./commands/config.ts")).config,
  },
  {
    name: "backup",
    section: "Setup",
    summary: "copy the database, also while the gateway runs",
    load: async () => (await import("./commands/backup.ts")).backup,
  },
  {
    name: "restore",
    section: "Setup",
    summary: "replace the database with a backup",
    load: async () => (await import("./commands/restore.ts")).restore,
  },
];
