/** Every command, in the order of the help. A command's file is loaded only when it is called. */
import type { Command } from "./command.ts";

export interface CatalogueRow {
  readonly name: string;
  readonly section: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const row = (section: string, name: string, summary: string, load: () => Promise<Command>): CatalogueRow => ({
  name,
  section,
  summary,
  load,
});

export const COMMAND_CATALOGUE: readonly CatalogueRow[] = [
  row("Gateway", "start", "run the gateway on this home", async () => (await import("./commands/start.ts")).start),
  row("Work", "run", "let the assistant work on one message", async () => (await import("./commands/run.ts")).run),
  row("Work", "runs", "list, show, cancel and export runs", async () => (await import("./commands/runs.ts")).runs),
  row(
    "Work",
    "approvals",
    "list and answer questions that wait for you",
    async () => (await import("./commands/approvals.ts")).approvals,
  ),
  row(
    "Work",
    "caps",
    "see, grant and revoke what a session may reach",
    async () => (await import("./commands/caps.ts")).caps,
  ),
  row("Work", "tools", "see the tools, or call one yourself", async () => (await import("./commands/tools.ts")).tools),
  row("Work", "trash", "list, restore or purge deleted files", async () => (await import("./commands/trash.ts")).trash),
  row(
    "Work",
    "policy",
    "see what the agent may do, and why a call would be allowed, asked about or denied",
    async () => (await import("./commands/policy.ts")).policy,
  ),
  row(
    "Work",
    "budget",
    "see what was spent, on what, and what is left",
    async () => (await import("./commands/budget.ts")).budget,
  ),
  row(
    "Work",
    "models",
    "list the models, and check that one answers",
    async () => (await import("./commands/models.ts")).models,
  ),
  row(
    "Proof",
    "verify",
    "verify a bundle, a run or the whole home",
    async () => (await import("./commands/verify.ts")).verify,
  ),
  row(
    "Proof",
    "replay",
    "replay a recorded run, or try another policy on it",
    async () => (await import("./commands/replay.ts")).replay,
  ),
  row(
    "Proof",
    "conformance",
    "test how a model behaves under contract",
    async () => (await import("./commands/conformance.ts")).conformance,
  ),
  row(
    "Setup",
    "config",
    "read and change the configuration",
    async () => (await import("./commands/config.ts")).config,
  ),
  row(
    "Setup",
    "backup",
    "copy the database, also while the gateway runs",
    async () => (await import("./commands/backup.ts")).backup,
  ),
  row(
    "Setup",
    "restore",
    "replace the database with a backup",
    async () => (await import("./commands/restore.ts")).restore,
  ),
];
