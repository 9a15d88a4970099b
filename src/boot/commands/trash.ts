/**
 * `surety trash ls|restore`: what the agent deleted, and how it comes back.
 *
 * R1. Restoring replaces nothing: where something stands in the old place by now, that is said.
 */
import { findAnnex } from "../../adapters/tools/fs/annex.ts";
import { listTrash, restoreTrash } from "../../adapters/tools/fs/trash.ts";
import { openWorkspace } from "../../adapters/tools/fs/workspace.ts";
import { ToolFailure } from "../../adapters/tools/tool-failure.ts";
import { BootError, EXIT } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { loadConfig } from "../config/load-config.ts";

const ls: Action = {
  summary: "list what was deleted and can be restored, the oldest first",
  arguments: [],
  options: {},
  examples: ["surety trash ls", "surety trash ls --json"],
  async run(context) {
    const { output } = context;
    const { annex } = await openPlaces(context);
    const trashed = await listTrash(annex);
    const wire = trashed.map(({ id, path, type, entries, bytes, deletedAt, runId }) => ({
      ...{ id, path, type, entries, bytes, deleted_at: deletedAt, run_id: runId },
    }));
    output.result({ trash: wire }, () =>
      output.table(
        ["ID", "DELETED", "BYTES", "PATH"],
        trashed.map(({ id, deletedAt, bytes, path }) => [id, deletedAt, String(bytes), path]),
      ),
    );
    return EXIT.success;
  },
};

const restore: Action = {
  summary: "put something back where it was",
  arguments: ["ID"],
  options: {},
  examples: ["surety trash restore 0123456789abcdef-0123456789abcdef"],
  async run(context) {
    const {
      arguments: [id = ""],
      output,
    } = context;
    const { workspace, annex } = await openPlaces(context);
    try {
      const { path } = await restoreTrash(workspace, annex, id);
      output.result({ id, path }, () => output.line(`restored ${path}`));
      return EXIT.success;
    } catch (error) {
      throw error instanceof ToolFailure ? refusalOf(error) : error;
    }
  },
};

export const trash: Command = { actions: { ls, restore } };

function refusalOf(cause: ToolFailure): BootError {
  return new BootError(cause.code, cause.message, "See surety trash ls.", { cause });
}

async function openPlaces({ home }: CommandContext) {
  const { tools } = await loadConfig(home.configFile);
  const workspace = await openWorkspace(tools.workspace ?? home.workspace);
  return { workspace, annex: await findAnnex(workspace, home.annex) };
}
