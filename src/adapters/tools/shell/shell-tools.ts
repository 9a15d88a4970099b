/** Declares `shell.exec`. The rules about commands are loaded on the first call. */
import { Type } from "typebox";
import { defineTool, fieldOf, type Tool } from "../define-tool.ts";
import type { ShellExec, ShellOptions } from "./shell-exec.ts";

const DEFAULT_TIMEOUT_S = 20;

const parameters = Type.Object(
  {
    cmd: Type.String({ minLength: 1, description: "One program and its arguments, or several joined by |" }),
    timeout_s: Type.Optional(Type.Integer({ minimum: 1, default: DEFAULT_TIMEOUT_S })),
  },
  { additionalProperties: false },
);

export function shellTools(options: ShellOptions): readonly Tool[] {
  let opening: Promise<ShellExec> | null = null;
  const open = (): Promise<ShellExec> => {
    opening ??= import("./shell-exec.ts").then(({ shellExec }) => shellExec(options));
    return opening;
  };
  const exec = defineTool({
    name: "shell.exec",
    description:
      "Run an allowed command in the workspace, in a sandbox without network. No shell: no variables, globs, redirections or ;",
    parameters,
    risk: "side_effect",
    idempotency: "opaque",
    aliases: [{ name: "shell_execute", rename: { command: "cmd" } }],
    volatileFields: ["duration_ms"],
    mayOnlyRead: true,
    mayAskAlways: true,
    plan: async (args) => (await open()).plan(args),
    run: async (call, context) => (await open()).run(call, context),
    summarize({ args, output }) {
      const exitCode = fieldOf(output, "exit_code");
      return `ran ${fieldOf(args, "cmd") ?? "a command"}${exitCode === undefined ? "" : ` (exit ${exitCode})`}`;
    },
  });
  return [exec];
}
