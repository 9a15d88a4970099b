/**
 * `surety policy marks|unmark`: what of the workspace an untrusted context wrote, and the operator's word that it may be
 * trusted all the same.
 *
 * K1. Beside a gateway it is the gateway that looks, and takes the mark off: what it knows of marks is what counts there.
 */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import type { Assistant } from "../../assistant/assistant.ts";
import { BootError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { withAssistant } from "../reach-assistant.ts";

const WHOLE = ".";

export const marks: Action = {
  summary: "list what of the workspace an untrusted context wrote",
  arguments: [],
  options: {},
  examples: ["surety policy marks"],
  run: (context) => withAssistant(context, (assistant) => print(context, assistant)),
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
      await print(context, assistant);
    });
  },
};

async function print({ output }: CommandContext, assistant: Assistant): Promise<void> {
  const paths = await assistant.marks();
  output.result({ marks: paths }, () => {
    if (paths.length === 0) output.line("nothing is marked as untrusted");
    for (const path of paths) output.line(path === WHOLE ? ". (the whole workspace)" : visibleText(path));
  });
}
