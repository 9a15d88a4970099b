/** The file tools of S-4.1. */
import type { Tool } from "../define-tool.ts";
import { listDirTool } from "./list-dir.ts";
import { readTextTool } from "./read-text.ts";
import type { Workspace } from "./workspace.ts";
import { writeTextTool } from "./write-text.ts";

export function fsTools(workspace: Workspace): readonly Tool[] {
  return [listDirTool(workspace), readTextTool(workspace), writeTextTool(workspace)];
}
