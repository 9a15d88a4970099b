/** The tools that run commands. */
import type { Sandbox } from "../../../runtime/ports/sandbox.ts";
import type { Tool } from "../define-tool.ts";
import type { Workspace } from "../fs/workspace.ts";
import { createExecutableFinder } from "./find-executable.ts";
import { SEARCH_PATH, shellEnvironment } from "./shell-environment.ts";
import { shellExecTool } from "./shell-exec.ts";

const MAX_TIMEOUT_MS = 600_000;

export interface ShellOptions {
  readonly workspace: Workspace;
  readonly sandbox: Sandbox;
  /** Names of the commands that may be called at all. */
  readonly allow: readonly string[];
  readonly maxTimeoutMs?: number;
  /** Where programs are looked for, absolute; as usual on the system unless a test has its own. */
  readonly searchPath?: readonly string[];
}

export function shellTools(options: ShellOptions): readonly Tool[] {
  const { workspace, sandbox, allow, searchPath = SEARCH_PATH } = options;
  return [
    shellExecTool({
      ...{ workspace, sandbox, allow },
      environment: shellEnvironment(workspace.root, searchPath),
      findExecutable: createExecutableFinder(workspace.root, searchPath),
      maxTimeoutMs: options.maxTimeoutMs ?? MAX_TIMEOUT_MS,
    }),
  ];
}
