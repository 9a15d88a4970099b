/**
 * `surety policy marks|unmark`: what of the workspace an untrusted context wrote, and the operator's word that it may be
 * trusted all the same.
 *
 * K1. They are read where they are kept. Beside a gateway it is the gateway that takes one off: it knows them by heart.
 */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import { untrustedMarks } from "../../adapters/tools/fs/untrusted-marks.ts";
import { BootError, EXIT } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { withAssistant } from "../connect-assistant.ts";
import { findWorkspace } from "../find-workspace.ts";
import { readSettings } from "../settings.ts";

const WHOLE = ".";

export const marks: Action = {
  summary: "list what of the workspace an untrusted context wrote",
  arguments: [],
  options: {},
  examples: ["surety policy marks"],
  async run(context) {
    const { home } = context;
    const { config } = await readSettings(context);
    print(context, await untrustedMarks(await findWorkspace(home, config.tools.workspace), home.annex).list());
    return EXIT.success;
  },
};

export const unmark: Action = {
  summary: "trust it from now on: a path as policy marks lists it, or . for the whole workspace",
  arguments: ["PATH"],
  options: {},
  examples: ["surety policy unmark notes/page.md", "surety policy unmark ."],
  run(context) {
    const [path = ""] = context.arguments;
    return withAssistant(context, async (assistant) => {
      const removed = await assistant.removeMark(path, "operator");
      if (!removed.ok) {
        const message = removed.code === "not_found" ? `${visibleText(path)} is not marked` : removed.message;
        throw new BootError(removed.code, message, "See surety policy marks.");
      }
      print(context, await assistant.marks());
    });
  },
};

function print({ output }: CommandContext, paths: readonly string[]): void {
  output.result({ marks: paths }, () => {
    if (paths.length === 0) output.line("nothing is marked as untrusted");
    for (const path of paths) output.line(path === WHOLE ? ". (the whole workspace)" : visibleText(path));
  });
}
