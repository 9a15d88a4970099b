/** `fs.stat`: type, size and time of change of a path. Links are not followed, and nothing is opened. */
import { lstatSync, type Stats } from "node:fs";
import { Type } from "typebox";
import { timestampOf } from "../../../runtime/ports/clock.ts";
import { defineTool, fieldOf } from "../define-tool.ts";
import { assertNotMoved, entryPath, kindOf } from "./directory-handle.ts";
import { missing, withPathErrors } from "./fs-failure.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inDirectory, type Workspace } from "./workspace.ts";
import { directoryNames } from "./workspace-path.ts";

const PERMISSIONS = 0o777;
/** The latest time a `Date` can hold. */
const MAX_DATE_MS = 8.64e15;

const parameters = Type.Object({ path: Type.String({ minLength: 1 }) }, { additionalProperties: false });

export function statTool(workspace: Workspace, marks: UntrustedMarks) {
  return defineTool({
    name: "fs.stat",
    description: "Tell type, size and time of change of a path in the workspace.",
    parameters,
    risk: "read_only",
    idempotency: "read_only",
    aliases: [{ name: "file_info", rename: { file_path: "path" } }],
    async plan({ path }) {
      const names = directoryNames(path);
      const target = [workspace.root, ...names].join("/");
      const labels = await marks.labelsOf(names);
      return { labels, shown: `Look up ${JSON.stringify(target)}`, plan: { targets: [target] } };
    },
    run({ args: { path }, labels }) {
      const names = directoryNames(path);
      const shown = names.join("/") || ".";
      return inDirectory(workspace, names.slice(0, -1), (directory) =>
        withPathErrors(shown, async () => {
          const stats = lstatSync(entryPath(directory, names.at(-1) ?? "."), { throwIfNoEntry: false });
          assertNotMoved(directory);
          await marks.assertLabelled(labels, names);
          if (stats === undefined) throw missing(shown);
          return { path: shown, ...describe(stats) };
        }),
      );
    },
    summarize({ args, output }) {
      return `looked up ${fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a path"}`;
    },
  });
}

function describe(stats: Stats) {
  const { size, mtimeMs, mode } = stats;
  const type = kindOf(stats);
  return {
    type,
    bytes: type === "file" ? size : null,
    modified: Math.abs(mtimeMs) <= MAX_DATE_MS ? timestampOf(mtimeMs) : null,
    mode: (mode & PERMISSIONS).toString(8).padStart(3, "0"),
  };
}
