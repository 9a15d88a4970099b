/**
 * `fs.delete`: moves a file or directory to the trash, which no tool can reach (`trash.ts`). The plan binds the parent
 * directory and a fingerprint of the whole tree, and shows every name in it. A repeat after a crash succeeds if the
 * call's own entry is in the trash (`keyed`): for that, a path whose last content is in the trash is planned as a call
 * that changes nothing.
 */
import { Type } from "typebox";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { type Clock, timestampOf } from "../../../runtime/ports/clock.ts";
import type { CallContext, Planned } from "../../../runtime/ports/toolbox.ts";
import { type ArgumentsOf, defineTool, fieldOf } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { callKey } from "./atomic-write.ts";
import { identityOf, isDirectoryOf } from "./directory-handle.ts";
import { changedSince, missing, pathFailure, symlinkRefused, withPathErrors } from "./fs-failure.ts";
import { NOT_REGULAR } from "./regular-file.ts";
import { findToolStateDirectory, openToolStateDirectory } from "./tool-state-directory.ts";
import { findTrashed, hasTrashFrom, moveToTrash, type TrashEntry, trashIdOf } from "./trash.ts";
import { snapshotTree, type TreeSnapshot } from "./tree-snapshot.ts";
import { inDirectory, inNearestDirectory, type Workspace } from "./workspace.ts";
import { directoryNames } from "./workspace-path.ts";

const parameters = Type.Object(
  {
    path: Type.String({ minLength: 1 }),
    recursive: Type.Optional(Type.Boolean({ default: false })),
  },
  { additionalProperties: false },
);

type DeleteArguments = ArgumentsOf<typeof parameters>;

interface Dependencies {
  readonly stateDirectory: string;
  readonly clock: Pick<Clock, "nowMs">;
}

export function deleteTool(workspace: Workspace, dependencies: Dependencies) {
  return defineTool({
    name: "fs.delete",
    description: "Move a file or directory of the workspace to the trash.",
    parameters,
    risk: "side_effect",
    idempotency: "keyed",
    volatileFields: ["trash_id"],
    aliases: [{ name: "file_delete", rename: { file_path: "path" } }],
    plan: (args) => planDelete(workspace, dependencies, args),
    run: ({ args, plan }, context) => runDelete(workspace, dependencies, { args, plan }, context),
    summarize({ args, output }) {
      return `deleted ${fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a file"}`;
    },
  });
}

function planDelete(workspace: Workspace, { stateDirectory }: Dependencies, { path, recursive }: DeleteArguments) {
  const { parents, name, shown } = targetOf(path);
  const target = `${workspace.root}/${shown}`;
  return inNearestDirectory(workspace, parents, async (directory, [absent]) => {
    const found = absent === undefined ? await withPathErrors(shown, () => snapshotTree(directory, name)) : null;
    if (found === null) {
      if (!(await hasTrashFrom(await findToolStateDirectory(workspace, stateDirectory), target))) throw missing(shown);
      return {
        labels: USER_LABELS,
        risk: "read_only" as const,
        shown: `Change nothing: ${JSON.stringify(target)} is already in the trash`,
        plan: { targets: [target] },
      };
    }
    refuseUnsupported(shown, found, recursive);
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
  { stateDirectory, clock }: Dependencies,
  { args, plan }: { readonly args: DeleteArguments; readonly plan: Planned["plan"] },
  context: CallContext,
) {
  const { parents, name, shown } = targetOf(args.path);
  const id = trashIdOf(`${workspace.root}/${shown}`, callKey(context));
  const state = await openToolStateDirectory(workspace, stateDirectory);
  const done = context.isRepeat ? await findTrashed(state, id) : null;
  if (done !== null) return outputOf(done);
  const {
    cwd,
    scriptHashes: [fingerprint],
  } = plan;
  if (fingerprint === undefined && !context.isRepeat) throw missing(shown);
  if (!context.mayAct || fingerprint === undefined) throw changedSince(shown, context);
  return await inDirectory(workspace, parents, (directory) =>
    withPathErrors(shown, async () => {
      const found = isDirectoryOf(cwd, directory) ? await snapshotTree(directory, name) : null;
      if (found?.fingerprint !== fingerprint) throw changedSince(shown, context);
      const entry: TrashEntry = {
        ...{ id, root: workspace.root, path: shown },
        type: found.kind === "directory" ? "directory" : "file",
        entries: found.entries.length,
        bytes: found.bytes,
        deletedAt: timestampOf(clock.nowMs()),
        runId: context.runId,
      };
      const source = { name, device: found.device, inode: found.inode };
      if (!(await moveToTrash(state, entry, directory, source, context.signal))) throw changedSince(shown, context);
      return outputOf(entry);
    }),
  );
}

function targetOf(path: string) {
  const names = directoryNames(path);
  const name = names.at(-1);
  if (name === undefined) throw new ToolFailure("policy.denied", "The workspace itself cannot be deleted.");
  return { parents: names.slice(0, -1), name, shown: names.join("/") };
}

function refuseUnsupported(path: string, { kind, entries }: TreeSnapshot, recursive: boolean): void {
  if (kind === "symlink") throw symlinkRefused(path);
  if (kind === "other") throw pathFailure("policy.denied", path, NOT_REGULAR);
  if (entries.length === 1 || recursive) return;
  throw pathFailure(
    "invalid.request",
    path,
    "is a directory that is not empty: set recursive to delete its contents too",
  );
}

function showDelete(target: string, { kind, entries, bytes }: TreeSnapshot): string {
  const [, ...inside] = entries;
  const count = (wanted: string): number => inside.filter((entry) => entry.kind === wanted).length;
  return [
    `Move a ${kind} to the trash; it can be restored`,
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

function outputOf({ path, type, entries, bytes, id }: TrashEntry) {
  return { path, type, entries, bytes, trash_id: id };
}
