/**
 * `fs.delete`: a file or a directory, moved to the trash.
 *
 * 1. Nothing is lost: what is deleted can be restored from the trash, which no tool can reach (`trash.ts`).
 * 2. The plan holds the directory it is in, by device and inode, and a fingerprint of all that goes.
 * 3. An approver is shown the name of everything that goes. More than can be shown is refused, and so are a directory
 *    that is not empty without `recursive`, a link, and the workspace itself.
 * 4. Repeated after a crash, what this call put into the trash already is a success (`keyed`). For that, deleting what
 *    is no longer there, but in the trash, is planned as a call that changes nothing.
 */
import { Type } from "typebox";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { type Clock, timestampOf } from "../../../runtime/ports/clock.ts";
import type { CallContext, Planned } from "../../../runtime/ports/toolbox.ts";
import { defineTool } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { callKey } from "./call-key.ts";
import { identityOf } from "./directory-handle.ts";
import { fieldOf } from "./field-of.ts";
import { changedSince, missing, naming, symlinkRefused } from "./fs-failure.ts";
import { findToolStateDirectory, makeToolStateDirectory } from "./tool-state-directory.ts";
import { findTrashed, hasTrashFrom, moveToTrash, type Trashed, trashIdOf } from "./trash.ts";
import { survey, type TreeSnapshot } from "./tree-snapshot.ts";
import { inDirectory, inNearestDirectory, type Workspace } from "./workspace.ts";
import { directoryNames } from "./workspace-path.ts";

const parameters = Type.Object(
  {
    path: Type.String({ minLength: 1 }),
    recursive: Type.Optional(Type.Boolean({ default: false })),
  },
  { additionalProperties: false },
);

interface DeleteArguments {
  readonly path: string;
  readonly recursive: boolean;
}

interface Beside {
  readonly annex: string;
  readonly clock: Pick<Clock, "nowMs">;
}

export function deleteTool(workspace: Workspace, beside: Beside) {
  return defineTool({
    name: "fs.delete",
    description: "Move a file or directory of the workspace to the trash.",
    parameters,
    risk: "side_effect",
    idempotency: "keyed",
    aliases: [{ name: "file_delete", rename: { file_path: "path" } }],
    plan: (args) => planDelete(workspace, beside, args),
    run: ({ args, plan }, context) => runDelete(workspace, beside, { args, plan }, context),
    summarize({ args, output }) {
      return `deleted ${fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a file"}`;
    },
  });
}

function planDelete(workspace: Workspace, beside: Beside, { path, recursive }: DeleteArguments) {
  const { parents, name } = placeOf(path);
  const shown = [...parents, name].join("/");
  const target = `${workspace.root}/${shown}`;
  return inNearestDirectory(workspace, parents, async (directory, [absent]) => {
    const found = absent === undefined ? await naming(shown, () => survey(directory, name)) : null;
    if (found === null) {
      if (!(await hasTrashFrom(await findToolStateDirectory(workspace, beside.annex), target))) throw missing(shown);
      return {
        labels: USER_LABELS,
        risk: "read_only" as const,
        shown: `Change nothing: ${JSON.stringify(target)} is not there, and in the trash already`,
        plan: { targets: [target] },
      };
    }
    refuseOthers(shown, found, recursive);
    return {
      labels: USER_LABELS,
      reversal: { kind: "reversible" as const, how: "it can be restored from the trash" },
      shown: showDelete(target, found),
      plan: {
        cwd: { path: directory.path, ...identityOf(directory) },
        scriptHashes: [found.fingerprint],
        targets: [target],
      },
    };
  });
}

async function runDelete(
  workspace: Workspace,
  beside: Beside,
  { args, plan }: { readonly args: DeleteArguments; readonly plan: Planned["plan"] },
  context: CallContext,
) {
  const { parents, name } = placeOf(args.path);
  const shown = [...parents, name].join("/");
  const id = trashIdOf(`${workspace.root}/${shown}`, callKey(context));
  const annex = await makeToolStateDirectory(workspace, beside.annex);
  const done = context.isRepeat ? await findTrashed(annex, id) : null;
  if (done !== null) return outputOf(done);
  const {
    cwd,
    scriptHashes: [fingerprint],
  } = plan;
  if (fingerprint === undefined && !context.isRepeat) throw missing(shown);
  if (!context.mayAct || fingerprint === undefined) throw changedSince(shown, context);
  return await inDirectory(workspace, parents, (directory) =>
    naming(shown, async () => {
      const { device, inode } = identityOf(directory);
      if (device !== cwd?.device || inode !== cwd.inode) throw changedSince(shown, context);
      const found = await survey(directory, name);
      if (found?.fingerprint !== fingerprint) throw changedSince(shown, context);
      const trashed: Trashed = {
        ...{ id, root: workspace.root, path: shown },
        type: found.kind === "directory" ? "directory" : "file",
        entries: found.entries.length,
        bytes: found.bytes,
        deletedAt: timestampOf(beside.clock.nowMs()),
        runId: context.runId,
      };
      const thing = { name, device: found.device, inode: found.inode };
      if (!(await moveToTrash(annex, trashed, directory, thing, context.signal))) throw changedSince(shown, context);
      return outputOf(trashed);
    }),
  );
}

function placeOf(path: string): { readonly parents: readonly string[]; readonly name: string } {
  const names = directoryNames(path);
  const name = names.at(-1);
  if (name === undefined) throw new ToolFailure("policy.denied", "The workspace itself cannot be deleted.");
  return { parents: names.slice(0, -1), name };
}

function refuseOthers(path: string, { kind, entries }: TreeSnapshot, recursive: boolean): void {
  if (kind === "symlink") throw symlinkRefused(path);
  if (kind === "other") {
    const message = `${JSON.stringify(path)} is a device, a pipe or a socket, not a regular file.`;
    throw new ToolFailure("policy.denied", message, { details: { path } });
  }
  if (entries.length === 1 || recursive) return;
  const message = `${JSON.stringify(path)} is a directory that is not empty: set recursive to delete all that is in it.`;
  throw new ToolFailure("invalid.request", message, { details: { path } });
}

function showDelete(target: string, { kind, entries, bytes }: TreeSnapshot): string {
  const [, ...inside] = entries;
  const count = (wanted: string): number => inside.filter((entry) => entry.kind === wanted).length;
  return [
    `Move a ${kind} to the trash, from where it can be restored`,
    `  path:    ${JSON.stringify(target)}`,
    `  bytes:   ${bytes}`,
    ...(kind === "directory"
      ? [
          `  holds:   ${count("file")} files, ${count("directory")} directories, ${count("symlink")} links, ${count("other")} others`,
          "  all of them, each behind a bar:",
        ]
      : []),
    ...inside.map((entry) => `| ${JSON.stringify(entry.path)}${entry.kind === "file" ? "" : ` (${entry.kind})`}`),
  ].join("\n");
}

function outputOf({ path, type, entries, bytes, id }: Trashed) {
  return { path, type, entries, bytes, trash_id: id };
}
