/** `surety trash ls|restore|empty`: files that the agent deleted. Restoring never replaces an existing file. */
import { findToolStateDirectory } from "../../adapters/tools/fs/tool-state-directory.ts";
import { emptyTrash, listTrash, restoreTrash } from "../../adapters/tools/fs/trash.ts";
import { ToolFailure } from "../../adapters/tools/tool-failure.ts";
import { BootError, EXIT } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { loadConfig } from "../config/load-config.ts";
import { findWorkspace } from "../find-workspace.ts";
import { findExistingHome } from "../home.ts";
import { systemClock } from "../system-clock.ts";

const ls: Action = {
  summary: "list deleted files that can be restored, oldest first",
  examples: ["surety trash ls", "surety trash ls --json"],
  async run(context) {
    const { output } = context;
    const { stateDirectory } = await openTrash(context);
    const trashed = await listTrash(stateDirectory);
    const wire = trashed.map(({ id, path, type, entries, bytes, deletedAt, runId }) => ({
      ...{ id, path, type, entries, bytes, deleted_at: deletedAt, run_id: runId },
    }));
    output.result({ trash: wire }, () =>
      output.table(
        ["ID", "DELETED", "BYTES", "PATH"],
        trashed.map(({ id, deletedAt, bytes, path }) => [id, deletedAt, String(bytes), path]),
      ),
    );
  },
};

const restore: Action = {
  summary: "restore a deleted file to its place",
  arguments: ["ID"],
  examples: ["surety trash restore 0123456789abcdef-0123456789abcdef"],
  async run(context) {
    const [id = ""] = context.arguments;
    const { output } = context;
    const { workspace, stateDirectory } = await openTrash(context);
    try {
      const { path } = await restoreTrash(workspace, stateDirectory, id);
      output.result({ id, path }, () => output.line(`restored ${path}`));
    } catch (error) {
      throw error instanceof ToolFailure ? refusalOf(error) : error;
    }
  },
};

const MAX_DAYS = 36_500;
const DAY_MS = 24 * 3_600_000;

const empty: Action = {
  summary: "remove deleted files for good",
  options: {
    "older-than": { type: "string", value: "DAYS", summary: "only files deleted more than this many days ago" },
  },
  examples: ["surety trash empty", "surety trash empty --older-than 7"],
  async run(context) {
    const { options, output } = context;
    const days = options.integer("older-than", { least: 0, most: MAX_DAYS, example: 7 }) ?? 0;
    const { stateDirectory } = await openTrash(context);
    const { removed, failed } = await emptyTrash(stateDirectory, systemClock.nowMs() - days * DAY_MS);
    const bytes = removed.reduce((sum, trashed) => sum + trashed.bytes, 0);
    output.result({ removed: removed.map(({ id, path }) => ({ id, path })), bytes, failed }, () => {
      output.line(`removed ${removed.length} (${bytes} bytes)`);
      if (failed.length > 0) output.remark(`no permission to remove: ${failed.join(", ")}`);
    });
    return failed.length === 0 ? EXIT.success : EXIT.failure;
  },
};

export const command: Command = { actions: { ls, restore, empty } };

function refusalOf(cause: ToolFailure): BootError {
  return new BootError(cause.code, cause.message, "See surety trash ls.", { cause });
}

async function openTrash({ home }: CommandContext) {
  await findExistingHome(home);
  const { tools } = await loadConfig(home.configFile);
  const workspace = await findWorkspace(home, tools.workspace);
  return { workspace, stateDirectory: await findToolStateDirectory(workspace, home.toolStateDirectory) };
}
