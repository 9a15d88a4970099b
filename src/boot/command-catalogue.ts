/** Every command, in the order of the help. A command's file is loaded only when it is called. */
import type { Command } from "./command.ts";

export interface CatalogueRow {
  readonly name: string;
  readonly section: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const row = (
  section: string,
  name: string,
  summary: string,
  load: () => Promise<{ readonly command: Command }>,
): CatalogueRow => ({ name, section, summary, load: async () => (await load()).command });

export const COMMAND_CATALOGUE: readonly CatalogueRow[] = [
  row("Gateway", "start", "run the gateway on this home", () => import("./commands/start.ts")),
  row("Gateway", "logs", "print what was logged, and follow it", () => import("./commands/logs.ts")),
  row("Gateway", "login", "print a link that signs a browser in", () => import("./commands/login.ts")),
  row("Work", "chat", "talk with the assistant", () => import("./commands/chat.ts")),
  row("Work", "run", "let the assistant work on one message", () => import("./commands/run.ts")),
  row("Work", "runs", "list, show, cancel and export runs", () => import("./commands/runs.ts")),
  row(
    "Work",
    "sessions",
    "list, show, begin, condense, rename and export conversations",
    () => import("./commands/sessions.ts"),
  ),
  row("Work", "forget", "remove what was said and done, for good", () => import("./commands/forget.ts")),
  row("Work", "schedule", "let the assistant work by itself, at times you set", () => import("./commands/schedule.ts")),
  row("Work", "memory", "add, search, show and forget what the agents remember", () => import("./commands/memory.ts")),
  row("Work", "approvals", "list and answer questions that wait for you", () => import("./commands/approvals.ts")),
  row(
    "Work",
    "shadow",
    "see what the assistant noticed in files, shell and git, and act on it",
    () => import("./commands/shadow.ts"),
  ),
  row("Work", "caps", "see, grant and revoke what a session may reach", () => import("./commands/caps.ts")),
  row("Work", "pair", "accept and deny who may write to the assistant on channels", () => import("./commands/pair.ts")),
  row("Work", "tools", "see the tools, or call one yourself", () => import("./commands/tools.ts")),
  row("Work", "trash", "list, restore or purge deleted files", () => import("./commands/trash.ts")),
  row(
    "Work",
    "policy",
    "see what the agent may do, and why a call would be allowed, asked about or denied",
    () => import("./commands/policy.ts"),
  ),
  row("Work", "budget", "see what was spent, on what, and what is left", () => import("./commands/budget.ts")),
  row("Work", "models", "list the models, and check that one answers", () => import("./commands/models.ts")),
  row("Work", "governance", "see how runs are tuned after runs, and stop it", () => import("./commands/governance.ts")),
  row("Proof", "verify", "verify a bundle, a run or the whole home", () => import("./commands/verify.ts")),
  row(
    "Proof",
    "audit",
    "sign the state of the home, and compare the home with it later",
    () => import("./commands/audit.ts"),
  ),
  row("Proof", "replay", "replay a recorded run, or try another policy on it", () => import("./commands/replay.ts")),
  row("Proof", "conformance", "test how a model behaves under contract", () => import("./commands/conformance.ts")),
  row("Setup", "tokens", "let programs and people in, and take that back", () => import("./commands/tokens.ts")),
  row("Setup", "secrets", "store values for tools and channels, sealed", () => import("./commands/secrets.ts")),
  row("Setup", "config", "read and change the configuration", () => import("./commands/config.ts")),
  row("Setup", "backup", "copy the database, also while the gateway runs", () => import("./commands/backup.ts")),
  row(
    "Setup",
    "migrate",
    "take over the conversations of an OpenClaw, Moltbot or Clawdbot home",
    () => import("./commands/migrate.ts"),
  ),
  row("Setup", "restore", "replace the database with a backup", () => import("./commands/restore.ts")),
];
