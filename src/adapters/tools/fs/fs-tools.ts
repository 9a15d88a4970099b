/** The file tools: those of S-4.1, and what people expect beside them. */
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

interface Beside {
  /** The path of a directory outside the workspace and on the same file system, where the tools keep their own. */
  readonly annex: string;
  readonly clock: Pick<Clock, "nowMs">;
  /** The workspace's own: every tool that writes there has the same. */
  readonly marks: UntrustedMarks;
}

export function fsTools(workspace: Workspace, beside: Beside): readonly Tool[] {
  const { marks } = beside;
  return [
    deleteTool(workspace, beside),
    editTool(workspace, beside),
    listDirTool(workspace, marks),
    readTextTool(workspace, marks),
    searchTool(workspace, marks),
    statTool(workspace, marks),
    writeTextTool(workspace, marks),
  ];
}
