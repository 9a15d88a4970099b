/**
 * `surety policy marks|unmark`: what an untrusted context wrote in the workspace, and the operator's decision to trust it.
 * Marks are listed from the home. Beside a gateway the gateway removes one: it holds them in memory.
 */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import { untrustedMarks } from "../../adapters/tools/fs/untrusted-marks.ts";
import type { Action, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { findWorkspace } from "../find-workspace.ts";
import { readSettings } from "../settings.ts";

const WHOLE = ".";

export const marks: Action = {
  summary: "list what an untrusted context wrote in the workspace",
  examples: ["surety policy marks"],
  async run(context) {
    const { home } = context;
    const { config } = await readSettings(context);
    print(
      context,
      await untrustedMarks(await findWorkspace(home, config.tools.workspace), home.toolStateDirectory).list(),
    );
  },
};

export const unmark: Action = {
  summary: "trust it from now on: a path as policy marks lists it, or . for the whole workspace",
  arguments: ["PATH"],
  examples: ["surety policy unmark notes/page.md", "surety policy unmark ."],
  run(context) {
    const [path = ""] = context.arguments;
    return withOperations(context, async (operations) => {
      const removed = await operations.call("marks.remove", { remove: path });
      const isUnknown = !removed.ok && removed.code === "not_found";
      const result = isUnknown ? { ...removed, message: `${visibleText(path)} is not marked` } : removed;
      print(context, valueIn(result, () => "See surety policy marks.").marks);
    });
  },
};

function print({ output }: CommandContext, paths: readonly string[]): void {
  output.result({ marks: paths }, () => {
    if (paths.length === 0) output.line("nothing is marked as untrusted");
    for (const path of paths) output.line(path === WHOLE ? ". (the whole workspace)" : visibleText(path));
  });
}
