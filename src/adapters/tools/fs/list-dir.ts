/** `fs.list_dir`: the first entries of a directory in the order of names, with at most twice `max_entries` in memory. */
import { type Dirent, lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { Type } from "typebox";
import { defineTool, fieldOf } from "../define-tool.ts";
import { assertNotMoved, byName, type DirectoryHandle, entryPath, kindOf } from "./directory-handle.ts";
import { withPathErrors } from "./fs-failure.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inDirectory, type Workspace } from "./workspace.ts";
import { directoryNames } from "./workspace-path.ts";

const DEFAULT_MAX_ENTRIES = 200;
const MAX_ENTRIES = 2_000;
const READ_AHEAD = 256;

const parameters = Type.Object(
  {
    path: Type.Optional(Type.String({ minLength: 1, default: ".", description: "Relative to the workspace" })),
    max_entries: Type.Optional(Type.Integer({ minimum: 1, default: DEFAULT_MAX_ENTRIES })),
  },
  { additionalProperties: false },
);

export function listDirTool(workspace: Workspace, marks: UntrustedMarks) {
  return defineTool({
    name: "fs.list_dir",
    description: "List a directory of the workspace.",
    parameters,
    risk: "read_only",
    idempotency: "read_only",
    aliases: [
      { name: "fs.list", rename: { directory: "path" }, ignore: { recursive: false } },
      { name: "file_list", rename: { directory: "path" }, ignore: { recursive: false } },
    ],
    async plan({ path, max_entries: maxEntries }) {
      const names = directoryNames(path);
      const target = [workspace.root, ...names].join("/");
      return {
        labels: await marks.labelsOf(names),
        shown: `List up to ${Math.min(maxEntries, MAX_ENTRIES)} entries of ${JSON.stringify(target)}`,
        plan: { targets: [target] },
      };
    },
    run({ args: { path, max_entries: maxEntries }, labels }, { signal }) {
      const names = directoryNames(path);
      const shown = names.join("/") || ".";
      return inDirectory(workspace, names, (directory) =>
        withPathErrors(shown, async () => {
          const { first, truncated } = await firstByName(directory, Math.min(maxEntries, MAX_ENTRIES), signal);
          const entries = first.map((entry) => describe(directory, entry));
          assertNotMoved(directory);
          await marks.assertLabelled(labels, names);
          return { path: shown, entries, truncated };
        }),
      );
    },
    summarize({ args, output }) {
      const path = fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a directory";
      const entries = typeof output === "object" && output !== null && "entries" in output ? output.entries : null;
      return Array.isArray(entries) ? `listed ${entries.length} in ${path}` : `listed ${path}`;
    },
  });
}

async function firstByName(directory: DirectoryHandle, maxEntries: number, signal: AbortSignal) {
  let first: Dirent[] = [];
  let count = 0;
  for await (const entry of await opendir(entryPath(directory, "."), { bufferSize: READ_AHEAD })) {
    signal.throwIfAborted();
    count += 1;
    first.push(entry);
    if (first.length === 2 * maxEntries) first = first.sort(byName).slice(0, maxEntries);
  }
  return { first: first.sort(byName).slice(0, maxEntries), truncated: count > maxEntries };
}

function describe(directory: DirectoryHandle, entry: Dirent) {
  const { name } = entry;
  const stats = lstatSync(entryPath(directory, name), { throwIfNoEntry: false });
  // Removed meanwhile, or a name that is not valid text and cannot be looked up.
  if (stats === undefined) return { name, type: kindOf(entry), bytes: null };
  return { name, type: kindOf(stats), bytes: stats.isFile() ? stats.size : null };
}
