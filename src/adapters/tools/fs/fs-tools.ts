/** The file tools: those of S-4.1, and the others people expect. */
import type { Clock } from "../../../runtime/ports/clock.ts";
import type { Tool } from "../define-tool.ts";
import { deleteTool } from "./delete.ts";
import { editTool } from "./edit.ts";
import { listDirTool } from "./list-dir.ts";
import { readTextTool } from "./read-text.ts";
import { searchTool } from "./search.ts";
import { statTool } from "./stat.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import type { Workspace } from "./workspace.ts";
import { writeTextTool } from "./write-text.ts";

interface Dependencies {
  /** Outside the workspace, on the same file system (`tool-state-directory.ts`). */
  readonly stateDirectory: string;
  readonly clock: Pick<Clock, "nowMs">;
  /** Shared by all tools that write to the workspace. */
  readonly marks: UntrustedMarks;
}

export function fsTools(workspace: Workspace, dependencies: Dependencies): readonly Tool[] {
  const { marks } = dependencies;
  return [
    deleteTool(workspace, dependencies),
    editTool(workspace, dependencies),
    listDirTool(workspace, marks),
    readTextTool(workspace, marks),
    searchTool(workspace, marks),
    statTool(workspace, marks),
    writeTextTool(workspace, marks),
  ];
}
